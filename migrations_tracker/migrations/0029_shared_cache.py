"""The table of the cache that all processes share, as `createcachetable` would make it."""

from __future__ import annotations

from django.db import migrations

_MAKE = """
    CREATE TABLE migrations_tracker_sharedcache (
        cache_key varchar(255) NOT NULL PRIMARY KEY,
        value text NOT NULL,
        expires timestamp with time zone NOT NULL
    );
    CREATE INDEX migrations_tracker_sharedcache_expires ON migrations_tracker_sharedcache (expires);
"""


class Migration(migrations.Migration):
    """Make the table."""

    dependencies = [("migrations_tracker", "0028_heaviest_units")]

    operations = [migrations.RunSQL(_MAKE, "DROP TABLE migrations_tracker_sharedcache")]
