"""What somebody is told when a site, a gap or a unit is made theirs."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import (
    Channel,
    Membership,
    Notice,
    NoticeKind,
    Person,
    SiteMigration,
    Subscription,
    WorkUnit,
)
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.services.notices import notices_collect
from migrations_tracker.services.site_migrations import site_migration_assign, site_migration_transition
from migrations_tracker.services.unit_progress import unit_start
from tests.factories import make_user
from tests.migrations_tracker.plan_fixture import make_plan

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def joan() -> User:
    return make_user("joan")


@pytest.fixture
def site(ada: User, joan: User) -> FallbackSite:
    make_plan()
    return FallbackSite.objects.order_by("pk")[0]


def told_to(person: User) -> list[str]:
    notices_collect()
    told = Notice.objects.filter(people=person, kind=NoticeKind.OWNED).order_by("pk")
    return list(told.values_list("title", flat=True))


def give(subject: FallbackSite | CapabilityGap, owner: User | None, actor: User) -> None:
    migration = SiteMigration.objects.get(pk=subject.migration.pk)
    site_migration_assign(migration=migration, assignee=owner, actor=actor)


def test_a_new_owner_is_told_once_by_whom(site: FallbackSite, ada: User, joan: User) -> None:
    give(site, joan, ada)
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
    assert told_to(joan) == [f"site #{site.pk} {site.symbol} is yours now, by ada"]
    assert len(told_to(joan)) == 1
    assert told_to(ada) == []
    give(site, None, ada)
    give(site, joan, ada)
    assert len(told_to(joan)) == 2


def test_a_new_owner_of_a_gap_is_told(site: FallbackSite, ada: User, joan: User) -> None:
    gap = CapabilityGap.objects.filter(migration__isnull=False).order_by("pk")[0]
    give(gap, joan, ada)
    (title,) = told_to(joan)
    assert title.startswith(f"gap #{gap.pk} ")


def test_a_new_owner_of_a_unit_is_told(site: FallbackSite, ada: User, joan: User) -> None:
    unit = WorkUnit.objects.order_by("pk")[0]
    WorkUnit.objects.filter(pk=unit.pk).update(confirmed_at=timezone.now(), pre_flight={"a": "b"})
    unit.edges_in.all().delete()
    person = Person.objects.create(plan=unit.plan, name="joan", user=joan)
    unit_start(unit=unit, person=person, actor=ada)
    assert WorkUnit.objects.get(pk=unit.pk).status == UnitStatus.UNDER_WAY
    assert told_to(joan) == [f"unit “{unit.title}” is yours now, by ada"]


def test_what_somebody_took_themselves_is_no_news(site: FallbackSite, joan: User) -> None:
    give(site, joan, joan)
    assert told_to(joan) == []


def test_what_was_given_to_another_meanwhile_is_not_told(site: FallbackSite, ada: User, joan: User) -> None:
    give(site, joan, ada)
    give(site, ada, joan)
    assert told_to(joan) == []
    assert len(told_to(ada)) == 1


def test_who_may_not_read_the_repository_any_more_is_told_nothing(
    site: FallbackSite, ada: User, joan: User
) -> None:
    give(site, joan, ada)
    Membership.objects.filter(user=joan).delete()
    assert told_to(joan) == []


def test_who_is_told_of_what_they_watch_is_told_of_this_after_an_upgrade(ada: User) -> None:
    watching = Subscription.objects.create(owner=ada, channel=Channel.EMAIL, kinds=["due", "watched"])
    migration = import_module("migrations_tracker.migrations.0025_told_of_what_is_yours")
    with connection.schema_editor() as editor:
        migration.who_is_told_of_what_they_watch_is_told_of_what_is_theirs(apps, editor)
    watching.refresh_from_db()
    assert watching.kinds == ["due", "owned", "watched"]
