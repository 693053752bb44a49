"""Where the scanned bytes come from: a folder, or a commit of a git repository."""

from __future__ import annotations
