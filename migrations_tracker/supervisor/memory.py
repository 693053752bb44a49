"""What one local run tells the next: ports and places, in one small file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from migrations_tracker.supervisor.private import write_private


class Memory:
    """Remembers values in a JSON file; a file that is broken is the same as none."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._values: dict[str, Any] = {}
        try:
            read = json.loads(file.read_text())
        except (OSError, ValueError):
            return
        if isinstance(read, dict):
            self._values = read

    @property
    def state_dir(self) -> Path | None:
        """Where the services' data lie."""
        value = self._values.get("state_dir")
        return Path(value) if isinstance(value, str) else None

    @state_dir.setter
    def state_dir(self, folder: Path) -> None:
        self._keep("state_dir", str(folder))

    def port(self, name: str, default: int = 0) -> int:
        """Return the port that something had the last time."""
        value = self._values.get(f"port_{name}")
        return value if isinstance(value, int) else default

    def keep_port(self, name: str, port: int) -> None:
        """Remember a port for the next time."""
        self._keep(f"port_{name}", port)

    def _keep(self, key: str, value: object) -> None:
        if self._values.get(key) != value:
            self._values[key] = value
            write_private(self._file, json.dumps(self._values, indent=1, sort_keys=True) + "\n")
