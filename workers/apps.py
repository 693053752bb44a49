"""The app of the machinery: tasks, runners and what they send."""

from __future__ import annotations

from django.apps import AppConfig

from workers.celery import app

__all__ = ["WorkersConfig", "app"]


class WorkersConfig(AppConfig):
    """Registers the app `workers`; importing it makes the Celery app current wherever Django is set up."""

    name = "workers"
