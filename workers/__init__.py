"""The machinery: the Celery app, the protocol between server and runner, the runner."""
