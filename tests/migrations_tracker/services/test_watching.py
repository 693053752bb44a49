"""Who is mentioned and who watches, and what they are told: once, and of what they may read alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from audit.models import FallbackSite, Repository
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import (
    Comment,
    Delivery,
    Membership,
    Mention,
    Notice,
    NoticeKind,
    Subscription,
    Watch,
    WatchReason,
)
from migrations_tracker.models.notice import PERSONAL
from migrations_tracker.roles import Role
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.deliveries import delivery_execute
from migrations_tracker.services.notices import notices_collect
from migrations_tracker.services.site_migrations import site_migration_assign, site_migration_transition
from migrations_tracker.services.subscriptions import subscription_end
from migrations_tracker.services.suppression_days import suppressions_expire
from migrations_tracker.services.suppressions import suppression_ask, suppression_reject
from migrations_tracker.services.watching import watch_end, watch_settings_change, watch_start
from migrations_tracker.services.work_units import unit_rename
from tests.factories import ingest, make_report, make_repository, make_result, make_user
from tests.migrations_tracker.plan_fixture import make_plan

pytestmark = pytest.mark.django_db
FILE = "minitorch-gpu/src/ops.rs"


@pytest.fixture(autouse=True)
def places(settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    settings.SITE_URL = "https://audit.example.org"


@pytest.fixture
def repository() -> Repository:
    repository = make_repository()
    ingest(repository, make_report([make_result()]))
    return repository


@pytest.fixture
def site(repository: Repository) -> FallbackSite:
    return FallbackSite.objects.get()


@pytest.fixture
def ada(repository: Repository) -> User:
    return make_user("ada")


@pytest.fixture
def joan(repository: Repository) -> User:
    return make_user("joan")


def told_to(person: User) -> list[str]:
    return list(Notice.objects.filter(people=person).order_by("pk").values_list("title", flat=True))


class TestAMention:
    def test_is_told_once_to_the_person_alone(self, site: FallbackSite, ada: User, joan: User) -> None:
        make_user("lin")
        comment_create(subject=site, author=ada, text="@joan, `@lin`: why?")
        (delivery,) = notices_collect()
        assert notices_collect() == []
        assert delivery_execute(pk=delivery.pk)
        (message,) = mail.outbox
        assert message.to == ["joan@example.org"]
        assert "ada mentions you on site" in message.subject
        assert "@joan, `@lin`: why?" in message.body
        assert f"{site.get_absolute_url()}#comment-" in message.body
        assert told_to(ada) == []

    def test_of_who_may_not_read_the_repository_tells_nobody_and_says_the_same_as_of_nobody(
        self, site: FallbackSite, ada: User
    ) -> None:
        stranger = make_user("eve", role=None)
        client = Client()
        client.force_login(ada)
        answers = []
        for name in ("eve", "zoe"):
            response = client.post(
                reverse("site-comment", args=[site.pk]), {"text": f"@{name} look"}, follow=True
            )
            answers.append(str(next(iter(response.context["messages"]))).replace(name, "X"))
            assert f'<strong class="mention">@{name}' not in response.content.decode()
        assert answers[0] == answers[1]
        assert "Not told: @X" in answers[0]
        notices_collect()
        assert told_to(stranger) == []
        assert not Mention.objects.exists()

    def test_is_not_told_to_who_lost_the_role_meanwhile(self, site: FallbackSite, ada: User) -> None:
        joan = make_user("joan", role=Role.READER)
        comment_create(subject=site, author=ada, text="@joan")
        Membership.objects.filter(user=joan).delete()
        assert notices_collect() == []
        assert told_to(joan) == []

    def test_of_oneself_is_no_news(self, site: FallbackSite, ada: User) -> None:
        comment_create(subject=site, author=ada, text="@ada to do")
        assert notices_collect() == []

    def test_is_told_in_its_own_words_and_not_as_something_watched_too(
        self, site: FallbackSite, ada: User, joan: User
    ) -> None:
        watch_start(person=joan, subject=site)
        comment_create(subject=site, author=ada, text="@joan")
        notices_collect()
        assert [notice.kind for notice in Notice.objects.filter(people=joan)] == [NoticeKind.MENTION]

    def test_begins_an_e_mail_subscription_that_can_be_ended_for_good(
        self, site: FallbackSite, ada: User, joan: User
    ) -> None:
        comment_create(subject=site, author=ada, text="@joan one")
        notices_collect()
        begun = Subscription.objects.get(owner=joan)
        assert set(begun.kinds) == PERSONAL
        subscription_end(subscription=begun)
        comment_create(subject=site, author=ada, text="@joan two")
        assert notices_collect() == []
        assert len(told_to(joan)) == 2


class TestWhatIsWatched:
    def test_is_told_with_who_did_it_in_one_message(self, site: FallbackSite, ada: User, joan: User) -> None:
        watch_start(person=joan, subject=site)
        comment_create(subject=site, author=ada, text="Looks wrong.")
        site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
        (delivery,) = notices_collect()
        assert notices_collect() == []
        delivery_execute(pk=delivery.pk)
        assert "went from open to accepted by ada" in mail.outbox[0].body
        assert "Looks wrong." in mail.outbox[0].body
        assert told_to(joan) == [
            f"ada comments on site #{site.pk} {site.symbol}",
            f"site #{site.pk} {site.symbol} went from open to accepted by ada",
        ]

    def test_tells_what_the_scanner_sees_no_more_and_again(
        self, repository: Repository, site: FallbackSite, joan: User
    ) -> None:
        watch_start(person=joan, subject=site)
        Watch.objects.update(created_at=timezone.now() - timedelta(hours=1))
        ingest(repository, make_report([], files=[FILE]))
        ingest(repository, make_report([make_result()]))
        notices_collect()
        titles = " ".join(told_to(joan))
        assert "no longer seen at" in titles
        assert "seen again at" in titles

    def test_is_told_of_a_unit(self) -> None:
        joan, ada = make_user("joan"), make_user("ada")
        unit = make_plan().units.earliest("pk")
        watch_start(person=joan, subject=unit)
        unit_rename(unit=unit, title="A better name", actor=ada)
        notices_collect()
        assert any("A better name" in title for title in told_to(joan))

    def test_tells_nobody_what_they_did_or_what_was_before(
        self, site: FallbackSite, ada: User, joan: User
    ) -> None:
        site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
        watch_start(person=joan, subject=site)
        watch_start(person=ada, subject=site)
        site_migration_transition(site=site, to=Status.PLANNED, actor=ada)
        notices_collect()
        assert told_to(ada) == []
        assert len(told_to(joan)) == 1

    def test_is_told_no_more_once_it_is_not_watched(self, site: FallbackSite, ada: User, joan: User) -> None:
        watch_start(person=joan, subject=site)
        assert watch_end(person=joan, subject=site)
        assert not watch_end(person=joan, subject=site)
        comment_create(subject=site, author=ada, text="x")
        assert notices_collect() == []
        assert not Delivery.objects.exists()


class TestTakingPart:
    def test_begins_a_watch_of_author_owner_and_who_is_mentioned(
        self, site: FallbackSite, ada: User, joan: User
    ) -> None:
        lin = make_user("lin")
        comment_create(subject=site, author=ada, text="@joan")
        site_migration_assign(migration=site.migration, assignee=lin, actor=ada)
        assert dict(Watch.objects.values_list("owner__username", "reason")) == {
            "ada": WatchReason.COMMENTED,
            "joan": WatchReason.MENTIONED,
            "lin": WatchReason.ASSIGNED,
        }

    def test_begins_none_for_who_wants_to_be_asked(self, site: FallbackSite, ada: User) -> None:
        watch_settings_change(person=ada, is_automatic=False)
        comment_create(subject=site, author=ada, text="x")
        assert not Watch.objects.exists()
        watch_start(person=ada, subject=site)
        assert Watch.objects.count() == 1


class TestThePages:
    def test_watch_and_stop_and_list(self, site: FallbackSite, joan: User, client: Client) -> None:
        client.force_login(joan)
        address = reverse("site-watch", args=[site.pk])
        assert b"Stop watching" in client.post(address, {"watch": "on"}, follow=True).content
        assert site.symbol in client.get(reverse("watch-list")).content.decode().replace("<wbr>", "")
        assert b"You watch nothing of this kind" in client.get(reverse("watch-list") + "?kind=gap").content
        client.post(address, {"watch": "off", "back": "list"})
        assert not Watch.objects.exists()

    def test_what_is_in_a_repository_without_a_role_is_not_listed(self, site: FallbackSite) -> None:
        eve = make_user("eve", role=Role.READER)
        watch_start(person=eve, subject=site)
        Membership.objects.filter(user=eve).delete()
        client = Client()
        client.force_login(eve)
        page = client.get(reverse("watch-list")).content.decode()
        assert "You watch nothing" in page
        assert client.post(reverse("site-watch", args=[site.pk])).status_code == 404

    def test_the_setting_is_kept(self, site: FallbackSite, joan: User, client: Client) -> None:
        client.force_login(joan)
        client.post(reverse("watch-settings"), {})
        comment_create(subject=site, author=joan, text="x")
        assert not Watch.objects.exists()
        client.post(reverse("watch-settings"), {"is_automatic": "on"})
        comment_create(subject=site, author=joan, text="y")
        assert Watch.objects.count() == 1

    def test_a_comment_is_shown_as_markdown(
        self, site: FallbackSite, ada: User, joan: User, client: Client
    ) -> None:
        comment_create(subject=site, author=ada, text="**no** <b>x</b> @joan")
        client.force_login(joan)
        page = client.get(site.get_absolute_url()).content.decode()
        assert '<strong>no</strong> &lt;b&gt;x&lt;/b&gt; <strong class="mention">@joan</strong>' in page
        assert Comment.objects.count() == 1


class TestASuppression:
    def test_that_is_asked_for_is_told_to_those_who_rule(
        self, site: FallbackSite, ada: User, joan: User
    ) -> None:
        lea, otto = make_user("lea", role=Role.LEAD), make_user("otto", role=None)
        Membership.objects.create(user=otto, role=Role.LEAD, repository=make_repository("other"))
        suppression_ask(subject=site, justification="one number", actor=ada)
        notices_collect()
        notices_collect()
        assert told_to(lea) == [f"ada asks for a suppression of site #{site.pk} {site.symbol}"]
        assert [told_to(person) for person in (ada, joan, otto)] == [[], [], []]

    def test_that_is_rejected_is_told_to_who_asked(self, site: FallbackSite, ada: User) -> None:
        lea = make_user("lea", role=Role.LEAD)
        suppression_ask(subject=site, justification="one number", actor=ada)
        suppression_reject(subject=site, reason="it has a kernel", actor=lea)
        notices_collect()
        assert told_to(ada) == [f"lea rejects the suppression of site #{site.pk} {site.symbol}"]

    def test_that_is_accepted_and_then_over_is_told_to_who_asked_and_who_ruled(
        self, site: FallbackSite, ada: User
    ) -> None:
        lea = make_user("lea", role=Role.LEAD)
        today = timezone.localdate()
        suppression_ask(subject=site, justification="one number", actor=ada, expires_on=today)
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=lea, reason="yes")
        suppressions_expire(today=today + timedelta(days=1))
        notices_collect()
        name = f"site #{site.pk} {site.symbol}"
        over = f"{name} went from suppressed to open by the day it was set for"
        assert told_to(ada) == [f"{name} went from open to suppressed by lea", over]
        assert over in told_to(lea)

    def test_of_another_site_says_nothing_of_this_one(self, site: FallbackSite, ada: User) -> None:
        site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
        notices_collect()
        assert not Notice.objects.filter(kind=NoticeKind.WATCHED).exists()
