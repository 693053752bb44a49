"""What every test may ask for: see the modules of tests/fixtures."""

from __future__ import annotations

pytest_plugins = [
    "tests.fixtures.services",
    "tests.fixtures.worker",
    "tests.fixtures.browser",
    "tests.fixtures.receiver",
    "tests.fixtures.provider",
]
