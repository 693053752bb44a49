from __future__ import annotations

from collections.abc import Callable

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from migrations_tracker.sealed_secrets import secret_open, secret_seal


def _each_secret(apps: Apps, change: Callable[[str], str]) -> None:
    for kept in apps.get_model("mfa", "Authenticator").objects.filter(type__in=["totp", "recovery_codes"]):
        for name in ("secret", "seed"):
            if name in kept.data:
                kept.data[name] = change(secret_open(kept.data[name]))
        if "migrated_codes" in kept.data:
            kept.data["migrated_codes"] = [change(secret_open(one)) for one in kept.data["migrated_codes"]]
        kept.save(update_fields=["data"])


def seal(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Seal the secrets of second factors that were set up before."""
    _each_secret(apps, secret_seal)


def unseal(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Leave them as the version before reads them."""
    _each_secret(apps, str)


class Migration(migrations.Migration):
    dependencies = [
        ("mfa", "0003_authenticator_type_uniq"),
        ("migrations_tracker", "0034_asked_because"),
    ]

    operations = [migrations.RunPython(seal, unseal)]
