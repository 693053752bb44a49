"""Settings for the tests: the real ones, on throw-away services."""

from __future__ import annotations

import os

# Named before the import: what a developer put into the environment or `.env` must not steer a test.
os.environ["SECRET_KEY"] = "only-for-tests-" * 4
os.environ["DEBUG"] = "no"
os.environ["ALLOWED_HOSTS"] = "localhost,127.0.0.1,testserver"
os.environ["DATABASE_POOL_SIZE"] = "0"

from migrations_tracker.settings import *  # noqa: F403
from migrations_tracker.settings import DATABASES, STORAGES

# Filled in by the fixture `django_db_modify_db_settings` when the first test asks for a database.
DATABASES["default"].setdefault("NAME", "ferroaudit")
# Names with a hash need `collectstatic`, which the live server of the tests does not run.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_BROKER_URL = "memory://"
