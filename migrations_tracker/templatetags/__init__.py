"""What the templates can say."""

from __future__ import annotations
