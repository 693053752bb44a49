"""How much a form may bring along."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

from migrations_tracker.services.attachments import FILES_AT_MOST, MAX_BYTES

MAX_UPLOAD = FILES_AT_MOST * MAX_BYTES + 1_000_000


class LimitedUploads(FileUploadHandler):
    """Refuses a form with files that is too large before any of it is read."""

    def handle_raw_input(
        self, input_data: Any, meta: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        """Raise where the form says that it is too large; the server reads no more than it says."""
        if content_length > MAX_UPLOAD:
            raise RequestDataTooBig(f"A form has at most {MAX_UPLOAD:,} bytes.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass on what was read."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
