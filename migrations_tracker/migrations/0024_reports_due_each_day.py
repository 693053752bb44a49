from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def ask_each_day(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Have the clock ask each day for the reports that it asked for on one day alone."""
    task_model = apps.get_model("django_celery_beat", "PeriodicTask")
    crontab_model = apps.get_model("django_celery_beat", "CrontabSchedule")
    for task in task_model.objects.filter(name__startswith="mail report by schedule "):
        columns = {
            "minute": task.crontab.minute,
            "hour": task.crontab.hour,
            "day_of_week": "*",
            "day_of_month": "*",
            "month_of_year": "*",
            "timezone": task.crontab.timezone,
        }
        daily = crontab_model.objects.filter(**columns).first()
        task.crontab = daily or crontab_model.objects.create(**columns)
        task.save(update_fields=["crontab"])


class Migration(migrations.Migration):
    dependencies = [
        ("django_celery_beat", "0019_alter_periodictasks_options"),
        ("migrations_tracker", "0023_suppression_days"),
    ]

    operations = [migrations.RunPython(ask_each_day, migrations.RunPython.noop)]
