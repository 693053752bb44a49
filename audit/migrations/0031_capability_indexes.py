from __future__ import annotations

import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0030_state_indexes")]

    operations = [
        migrations.AddIndex(
            model_name="capability",
            index=django.contrib.postgres.indexes.GinIndex(fields=["symbols"], name="capability_symbols_idx"),
        ),
        migrations.AddIndex(
            model_name="capability",
            index=models.Index(
                fields=["scan_run", "device", "family", "operator", "state", "is_gap", "crate"],
                name="capability_matrix_idx",
            ),
        ),
    ]
