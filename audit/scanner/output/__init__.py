"""How a scan is shown: text for people, JSON, SARIF, SARIF for GitHub."""

from __future__ import annotations
