"""What a WSGI server imports."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from migrations_tracker.charsets import Utf8Requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")

application = Utf8Requests(get_wsgi_application())
