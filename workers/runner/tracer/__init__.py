"""The tracer: a C library that the driver loads into the tested process, and the reader of what it wrote."""

from __future__ import annotations
