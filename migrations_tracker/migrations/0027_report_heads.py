"""Keep what the page of a report shows beside its document, for those that are written, too."""

from __future__ import annotations

from django.db import migrations, models
from django.db.models import Q

# As `document_head` cuts a document, in the database: a large one is megabytes.
FILL = """
WITH first AS MATERIALIZED (
    SELECT
        id,
        document,
        coalesce(jsonb_array_length(document -> 'open_sites'), 0) AS open_count,
        coalesce(jsonb_array_length(document -> 'closed_sites'), 0) AS closed_count,
        jsonb_path_query_array(document, '$.open_sites[0 to 99]') AS open_sites,
        jsonb_path_query_array(document, '$.closed_sites[0 to 99]') AS closed_sites,
        jsonb_array_length(jsonb_path_query_array(document, '$.closed_sites[*] ? (@.verdict == "")')) AS unverified,
        jsonb_array_length(jsonb_path_query_array(document, '$.closed_sites[*] ? (@.outcome == "")')) AS unexplained
    FROM migrations_tracker_migrationreport
    WHERE document IS NOT NULL
)
UPDATE migrations_tracker_migrationreport AS report
SET head = jsonb_build_object(
    'document',
    first.document || jsonb_build_object('open_sites', first.open_sites, 'closed_sites', first.closed_sites),
    'unverified_count', first.unverified,
    'unexplained_count', first.unexplained,
    'is_whole', first.open_count <= 100 AND first.closed_count <= 100
)
FROM first
WHERE report.id = first.id
"""


class Migration(migrations.Migration):
    dependencies = [("migrations_tracker", "0026_never_emptied")]

    operations = [
        migrations.AddField(
            model_name="migrationreport",
            name="head",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RemoveConstraint(model_name="migrationreport", name="migration_report_written_when_done"),
        migrations.AddConstraint(
            model_name="migrationreport",
            constraint=models.CheckConstraint(
                name="migration_report_written_when_done",
                condition=~Q(state="succeeded")
                | Q(document__isnull=False, head__isnull=False) & ~Q(digest=""),
            ),
        ),
    ]
