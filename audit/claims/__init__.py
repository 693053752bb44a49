"""What people say about the code, and what a scan of it says: pure, like the scanner."""

from __future__ import annotations
