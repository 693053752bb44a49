"""What every test may ask for: see the modules of tests/fixtures."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a test finds does not go by how busy the machine is.
settings.register_profile("any-speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-speed")

pytest_plugins = [
    "tests.fixtures.services",
    "tests.fixtures.worker",
    "tests.fixtures.browser",
    "tests.fixtures.receiver",
    "tests.fixtures.provider",
]
