"""The version of the package, for those who can't wait for its metadata to be looked up."""

from __future__ import annotations

VERSION = "0.1.0"
