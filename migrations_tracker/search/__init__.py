"""What can be searched: the kinds of documents, and how text becomes words."""

from __future__ import annotations
