"""By which day something is to be done: who says so, where it shows, and who is reminded."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import FallbackSite
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Notice, NoticeKind, SiteMigration
from migrations_tracker.roles import Role
from migrations_tracker.selectors.site_list import SiteFilters, cursor_decode, site_list
from migrations_tracker.services.notices import notices_collect
from migrations_tracker.services.site_migrations import (
    site_migration_assign,
    site_migration_due,
    site_migration_transition,
)
from migrations_tracker.services.watching import watch_start
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db
TODAY = timezone.localdate


@pytest.fixture
def sites() -> list[FallbackSite]:
    results = [make_result(f"minitorch_gpu::ops::op{number}", line=number + 1) for number in range(7)]
    ingest(make_repository(), make_report(results))
    return list(FallbackSite.objects.select_related("migration").order_by("pk"))


@pytest.fixture
def site(sites: list[FallbackSite]) -> FallbackSite:
    return sites[0]


@pytest.fixture
def ada() -> User:
    return make_user("ada", role=Role.LEAD)


def due_in(site: FallbackSite, days: int) -> None:
    SiteMigration.objects.filter(site=site).update(due_on=TODAY() + timedelta(days=days))


def told_to(person: User) -> list[str]:
    return list(Notice.objects.filter(people=person, kind=NoticeKind.DUE).values_list("title", flat=True))


def test_a_day_is_kept_with_who_said_so_and_the_one_before(site: FallbackSite, ada: User) -> None:
    site_migration_due(migration=site.migration, due_on=date(2027, 1, 1), actor=ada)
    site_migration_due(migration=site.migration, due_on=None, actor=ada)
    events = apps.get_model("migrations_tracker.SiteMigrationEvent")._default_manager
    days = list(events.order_by("pgh_id").values_list("due_on", "pgh_context__metadata__user"))
    assert days == [(None, ada.pk), (date(2027, 1, 1), ada.pk)]


def test_who_looked_at_an_older_state_dates_nothing(site: FallbackSite, ada: User) -> None:
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
    with pytest.raises(ChangedMeanwhileError):
        site_migration_due(migration=site.migration, due_on=date(2027, 1, 1), actor=ada, seen_version=1)
    with pytest.raises(PlanError):
        site_migration_due(migration=site.migration, due_on=date(227, 1, 1), actor=ada)
    assert SiteMigration.objects.get(site=site).due_on is None


class TestTheList:
    @pytest.mark.parametrize("size", [1, 2, 3, 50])
    def test_has_what_is_due_first_and_all_once_forth_and_back(
        self, sites: list[FallbackSite], size: int
    ) -> None:
        for number, days in ((4, -3), (2, 0), (6, 9)):
            due_in(sites[number], days)
        branch = sites[0].repository.branches.get()
        filters, forth, cursor = SiteFilters(sort="due"), [], ""
        pages = []
        while True:
            page = site_list(branch=branch, filters=filters, cursor=cursor_decode(cursor, "due"), size=size)
            pages.append(page)
            forth += [state.site_id for state in page.states]
            cursor = page.next
            if not cursor or not page.states:
                break
        order = [sites[number].pk for number in (4, 2, 6, 0, 1, 3, 5)]
        assert forth == order
        back = site_list(
            branch=branch,
            filters=filters,
            cursor=cursor_decode(pages[-1].previous, "due") if pages[-1].states else cursor_decode("", "due"),
            size=50,
        )
        assert [state.site_id for state in back.states] == order[: len(back.states)]

    def test_is_narrowed_to_what_is_overdue_and_not_at_rest(
        self, sites: list[FallbackSite], ada: User
    ) -> None:
        for one in sites[:3]:
            due_in(one, -1)
        due_in(sites[3], 0)
        site_migration_transition(site=sites[1], to=Status.SUPPRESSED, actor=ada, reason="by design")
        branch = sites[0].repository.branches.get()

        def found(due: str) -> set[int]:
            return {state.site_id for state in site_list(branch=branch, filters=SiteFilters(due=due)).states}

        assert found("overdue") == {sites[0].pk, sites[2].pk}
        assert found("dated") == {one.pk for one in sites[:4]}
        assert found("undated") == {one.pk for one in sites[4:]}

    def test_shows_the_column(self, site: FallbackSite, ada: User, client: Client) -> None:
        due_in(site, -1)
        client.force_login(ada)
        page = client.get(reverse("site-list") + "?columns=due&due=overdue").content.decode()
        assert f"{TODAY() - timedelta(days=1)} <span" in page
        assert "overdue" in page
        both = client.get(reverse("site-list") + "?columns=plan&columns=due&due=overdue").content.decode()
        assert both.index(">Plan</th>") < both.index(">Due</th>")
        assert both.index('class="badge status-open"') < both.index(f"{TODAY() - timedelta(days=1)} <span")
        export = client.get(reverse("site-export") + "?due=dated").getvalue().decode()
        assert str(TODAY() - timedelta(days=1)) in export


class TestAReminder:
    def test_goes_to_the_owner_once_before_and_once_after(self, site: FallbackSite, ada: User) -> None:
        lin = make_user("lin")
        site_migration_assign(migration=site.migration, assignee=lin, actor=ada)
        watch_start(person=ada, subject=site)
        due_in(site, 1)
        for _ in range(2):
            notices_collect()
        assert told_to(lin) == [f"site #{site.pk} {site.symbol} is due on {TODAY() + timedelta(days=1)}"]
        due_in(site, -1)
        for _ in range(2):
            notices_collect()
        assert len(told_to(lin)) == 2
        assert told_to(ada) == []

    def test_goes_to_who_watches_what_nobody_owns(self, site: FallbackSite, ada: User) -> None:
        watch_start(person=ada, subject=site)
        due_in(site, 0)
        notices_collect()
        assert len(told_to(ada)) == 1

    def test_is_not_sent_of_what_is_at_rest_or_in_no_reach(self, site: FallbackSite, ada: User) -> None:
        eve = make_user("eve", role=None)
        SiteMigration.objects.filter(site=site).update(assignee=eve)
        due_in(site, 0)
        notices_collect()
        site_migration_assign(migration=site.migration, assignee=ada, actor=eve)
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="by design")
        notices_collect()
        assert not Notice.objects.filter(kind=NoticeKind.DUE).exists()


def test_an_engineer_dates_a_site_on_its_page_and_a_reader_does_not(
    site: FallbackSite, ada: User, client: Client
) -> None:
    client.force_login(ada)
    address = reverse("site-due", args=[site.pk])
    page = client.post(address, {"due_on": "2026-12-24", "version": 1}, follow=True).content.decode()
    assert "Due on 2026-12-24." in page
    assert client.post(address, {"due_on": "2026-12-25", "version": 1}).status_code == 409
    assert client.post(address, {"due_on": "soon", "version": 2}).status_code == 422
    client.force_login(make_user("rae", role=Role.READER))
    assert client.post(address, {"due_on": "", "version": 2}).status_code == 403
