"""The forms of the knowledge base: imports, rulings, entries and notes."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, cast

from django import forms
from django.db.models import QuerySet
from django.utils import timezone

from audit.imports.formats import FORMAT_LABELS
from audit.imports.rows import MAX_BYTES
from audit.models import Judgement, Repository

PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class AuditImportForm(forms.Form):
    """A document, and what it speaks of. A preview carries the document along, packed."""

    repository = forms.ModelChoiceField(
        label="Repository", queryset=Repository.objects.none(), to_field_name="slug", empty_label=None
    )
    document = forms.FileField(
        label="Document",
        required=False,
        help_text="Markdown, CSV, SARIF or issues as GitHub exports them (JSON); 5 MB at most.",
    )
    format = forms.ChoiceField(
        label="Format", required=False, choices=[("", "Told by its name"), *FORMAT_LABELS.items()]
    )
    commit = forms.CharField(
        label="Commit it speaks of",
        max_length=200,
        required=False,
        help_text="A commit, tag or branch. Left empty, the one the document names.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    name = forms.CharField(
        label="Name", max_length=200, required=False, help_text="Left empty, the name of the file."
    )
    packed = forms.CharField(required=False, widget=forms.HiddenInput)
    file_name = forms.CharField(required=False, max_length=255, widget=forms.HiddenInput)

    def __init__(self, *args: Any, repositories: QuerySet[Repository], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ModelChoiceField[Repository]", self.fields["repository"]).queryset = repositories

    def clean(self) -> dict[str, object]:
        """Take the document from the upload, or from the preview before."""
        cleaned: dict[str, object] = super().clean() or {}
        upload = self.files.get("document")
        if upload is not None:
            if (upload.size or 0) > MAX_BYTES:
                self.add_error("document", f"It has {upload.size:,} bytes; {MAX_BYTES:,} are the most.")
                return cleaned
            cleaned["data"], cleaned["file_name"] = upload.read(), str(upload.name)[:255]
        elif cleaned.get("packed"):
            cleaned["data"] = unpacked(str(cleaned["packed"]))
        if not cleaned.get("data"):
            self.add_error("document", "Choose a document that holds something.")
        return cleaned


class JudgementForm(forms.Form):
    """What the code shows of a finding."""

    judgement = forms.ChoiceField(label="The code says", choices=Judgement.choices)
    reason = forms.CharField(
        label="What it shows", max_length=10_000, widget=forms.Textarea(attrs={"rows": 3})
    )


class SiteNumberForm(forms.Form):
    """The number of a site."""

    site = forms.IntegerField(label="Site number", min_value=1, max_value=2**62)


class EntryForm(forms.Form):
    """An entry, as its author writes it."""

    title = forms.CharField(label="Title", max_length=200, widget=forms.TextInput(attrs=PLAIN))
    text = forms.CharField(
        label="Text",
        required=False,
        help_text="Markdown. `[[rule:FT001]]`, `[[clause:F1]]`, `[[site:12]]`, `[[op:aten::lgamma]]`, "
        "`[[crate:NAME]]`, `[[entry:3]]`, `[[precedent:4]]`, and a repository's clause as "
        "`[[clause:REPOSITORY:P1]]`, are links.",
        widget=forms.Textarea(attrs={"rows": 18}),
    )
    tags = forms.CharField(label="Tags", required=False, max_length=900, help_text="Parted by commas.")
    attached = forms.CharField(
        label="Attached to",
        required=False,
        max_length=20_000,
        help_text="One a line, such as `rule:FT001` or `site:12`.",
        widget=forms.Textarea(attrs={"rows": 3, **PLAIN}),
    )
    note = forms.CharField(label="What changed", required=False, max_length=300)
    number = forms.IntegerField(required=False, min_value=0, max_value=2**31, widget=forms.HiddenInput)


class NewEntryForm(EntryForm):
    """An entry that is not there yet: of a repository that its author leads, or of none."""

    repository = forms.ModelChoiceField(
        label="Repository",
        queryset=Repository.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label="None: it is about all, and everybody reads it",
        help_text="Those read it who see the repository; its own clauses are `[[clause:P1]]` there.",
    )

    def __init__(
        self, *args: Any, repositories: QuerySet[Repository], may_be_of_none: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Repository]", self.fields["repository"])
        field.queryset = repositories
        if not may_be_of_none:
            field.required, field.empty_label = True, None


class AuditNoteForm(forms.Form):
    """What a person read, when and at which commit."""

    commit = forms.CharField(
        label="Commit you read",
        max_length=80,
        help_text="Seven characters of its id or more; a finished scan tells its files.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    read_on = forms.DateField(
        label="Read on", initial=timezone.localdate, widget=forms.DateInput(attrs={"type": "date"})
    )
    paths = forms.CharField(
        label="Files read",
        required=False,
        max_length=100_000,
        help_text="One a line; a folder stands for all that is in it.",
        widget=forms.Textarea(attrs={"rows": 3, **PLAIN}),
    )
    text = forms.CharField(
        label="What you found", max_length=50_000, widget=forms.Textarea(attrs={"rows": 4})
    )
    remaining = forms.CharField(
        label="What remains unread",
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def packed(data: bytes) -> str:
    """Write a document so that a form can carry it."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def unpacked(text: str) -> bytes:
    """Read what `packed` wrote; nothing from anything else, or from more than a document may hold."""
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), MAX_BYTES + 1)
    except (binascii.Error, zlib.error, ValueError):
        return b""
    return data if reader.eof and len(data) <= MAX_BYTES else b""
