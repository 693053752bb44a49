"""What a WSGI server imports."""

from __future__ import annotations

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from migrations_tracker.charsets import Utf8Requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")

application = Utf8Requests(get_wsgi_application())
# With the addresses come all views. What is imported by now stays as long as the process does, and looking
# through it for garbage held a request up for more than 100 ms each time.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
