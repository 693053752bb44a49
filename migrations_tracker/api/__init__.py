"""What programs read: JSON of the same facts as the pages."""

from __future__ import annotations
