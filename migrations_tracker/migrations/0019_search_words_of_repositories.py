from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.text
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def forget_index(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Empty the index: the next refresh writes it anew, with the repository of each word."""
    for model in ("SearchMark", "SearchDocument", "SearchWord"):
        apps.get_model("migrations_tracker", model).objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0021_held_drops"),
        ("migrations_tracker", "0018_mentions_and_watches"),
    ]

    operations = [
        migrations.RunPython(forget_index, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="searchword",
            name="word",
            field=models.CharField(db_collation="C", max_length=60),
        ),
        migrations.AddField(
            model_name="searchword",
            name="lexeme",
            field=models.CharField(blank=True, db_collation="C", default="", max_length=60),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="searchword",
            name="repository",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="audit.repository",
            ),
        ),
        migrations.AddIndex(
            model_name="searchword",
            index=models.Index(fields=["lexeme"], name="search_word_lexeme_idx"),
        ),
        migrations.AddIndex(
            model_name="searchword",
            index=models.Index(
                django.db.models.functions.text.Reverse("word"), name="search_word_reversed_idx"
            ),
        ),
        migrations.AddIndex(
            model_name="searchword",
            index=models.Index(django.db.models.functions.text.Length("word"), name="search_word_length_idx"),
        ),
        migrations.AddConstraint(
            model_name="searchword",
            constraint=models.UniqueConstraint(
                fields=("word", "repository"), name="search_word_once", nulls_distinct=False
            ),
        ),
    ]
