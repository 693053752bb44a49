"""`python -m migrations_tracker.healthcheck`: whether the pages of this container answer."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request


def main(address: str = "http://127.0.0.1:8000/healthz") -> int:
    """Return 0 when the pages answer, 1 when they do not."""
    try:
        with urllib.request.urlopen(address, timeout=4):  # noqa: S310 - the scheme is fixed
            return 0
    except (urllib.error.URLError, OSError):
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
