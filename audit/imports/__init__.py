"""Reading the audits that a project has already: from a document to rows, and from rows to the code."""

from __future__ import annotations
