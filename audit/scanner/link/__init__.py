"""Link: from the facts of all files to one workspace with a call graph and summaries."""

from __future__ import annotations
