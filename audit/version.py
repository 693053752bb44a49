"""The name and the version of the package, for those who can't wait for its metadata to be looked up."""

from __future__ import annotations

TOOL_NAME = "ferroaudit"
VERSION = "0.1.0"
