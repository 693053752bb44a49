from __future__ import annotations

from django.contrib.postgres.operations import CreateExtension
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("migrations_tracker", "0014_parity_gap_comments")]

    operations = [
        CreateExtension("fuzzystrmatch"),
        migrations.RemoveIndex(model_name="searchword", name="search_word_trgm_idx"),
        migrations.CreateModel(
            name="SearchLexeme",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("lexeme", models.CharField(db_collation="C", max_length=200, unique=True)),
                ("documents", models.PositiveIntegerField()),
            ],
        ),
    ]
