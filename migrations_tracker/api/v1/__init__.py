"""Version 1 of the API: what the pages show and do, described by OpenAPI."""

from __future__ import annotations
