"""Who is switched off leaves for good: tokens and sessions end with it, by whichever way it is done."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations

LEAVES = """
CREATE FUNCTION ferroaudit_person_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE migrations_tracker_apitoken SET revoked_at = now() WHERE owner_id = NEW.id AND revoked_at IS NULL;
    DELETE FROM django_session WHERE session_key IN (
        SELECT session_key FROM usersessions_usersession WHERE user_id = NEW.id
    );
    DELETE FROM usersessions_usersession WHERE user_id = NEW.id;
    RETURN NULL;
END;
$$;
CREATE TRIGGER person_leaves AFTER UPDATE ON auth_user
    FOR EACH ROW WHEN (OLD.is_active AND NOT NEW.is_active) EXECUTE FUNCTION ferroaudit_person_leaves();
"""

BACK = """
DROP TRIGGER person_leaves ON auth_user;
DROP FUNCTION ferroaudit_person_leaves();
"""

# Those who were switched off before: their tokens and sessions slept.
ALREADY_GONE = """
UPDATE migrations_tracker_apitoken SET revoked_at = now()
WHERE revoked_at IS NULL AND owner_id IN (SELECT id FROM auth_user WHERE NOT is_active);
DELETE FROM django_session WHERE session_key IN (
    SELECT session_key FROM usersessions_usersession
    WHERE user_id IN (SELECT id FROM auth_user WHERE NOT is_active)
);
DELETE FROM usersessions_usersession WHERE user_id IN (SELECT id FROM auth_user WHERE NOT is_active);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("migrations_tracker", "0030_append_only"),
        ("sessions", "0001_initial"),
        ("usersessions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(ALREADY_GONE, migrations.RunSQL.noop),
        migrations.RunSQL(LEAVES, BACK),
    ]
