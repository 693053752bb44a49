"""What a WSGI server imports."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import gc, sys
import migrations_tracker.wsgi
views = [name for name in sys.modules if name.startswith("migrations_tracker.views.")]
print(len(views) > 10, gc.get_freeze_count() > 100_000, len(gc.get_objects()) < 10_000)
"""


def test_all_views_are_imported_at_the_start_and_never_looked_through_for_garbage() -> None:
    environment = {
        **os.environ,
        "BROKER_URL": "redis://127.0.0.1:1/0",
        "DATABASE_URL": "postgres://127.0.0.1:1/none",
        "SECRET_KEY": "x" * 60,
        "DJANGO_SETTINGS_MODULE": "migrations_tracker.settings",
    }
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["True", "True", "True"]
