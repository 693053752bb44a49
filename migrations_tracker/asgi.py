"""What an ASGI server imports; the pages are synchronous, so a WSGI server serves them faster."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")

application = get_asgi_application()
