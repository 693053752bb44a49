"""What people write about the code: links, references, rendering, and likeness of code."""

from __future__ import annotations
