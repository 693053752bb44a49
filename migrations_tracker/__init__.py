"""The plan, the Django project and every page."""
