from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("migrations_tracker", "0027_report_heads")]

    operations = [
        migrations.RemoveIndex(model_name="workunit", name="work_unit_board_idx"),
        migrations.AddIndex(
            model_name="workunit",
            index=models.Index(
                fields=["plan", "phase", "status", "-weight", "key"],
                include=("id",),
                name="work_unit_weight_idx",
            ),
        ),
    ]
