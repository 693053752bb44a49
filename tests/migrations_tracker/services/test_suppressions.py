"""Suppressions: who asks, who rules, how long they last, and what ends them."""

from __future__ import annotations

from datetime import date, timedelta
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.models import FallbackSite, Precedent, Repository
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.lifecycle import Status, TransitionNotAllowedError
from migrations_tracker.models import SiteMigration, Suppression, Transition
from migrations_tracker.roles import Role
from migrations_tracker.services.site_migrations import site_migration_transition
from migrations_tracker.services.suppression_days import suppressions_expire
from migrations_tracker.services.suppressions import (
    suppression_ask,
    suppression_reject,
    suppression_withdraw,
)
from tests.factories import ingest, make_member, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db
TODAY = timezone.localdate


@pytest.fixture
def repository() -> Repository:
    return make_repository()


@pytest.fixture
def site(repository: Repository) -> FallbackSite:
    ingest(repository, make_report([make_result()]))
    return FallbackSite.objects.get()


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def lea() -> User:
    return make_user("lea", role=Role.LEAD)


def status_of(site: FallbackSite) -> str:
    return SiteMigration.objects.get(site=site).status


class TestAsking:
    def test_suppresses_nothing(self, site: FallbackSite, ada: User) -> None:
        asked = suppression_ask(subject=site, justification="the host is right", actor=ada)
        assert (asked.status, asked.is_asked_for, asked.is_in_force) == ("underReview", True, False)
        assert status_of(site) == "open"

    @pytest.mark.parametrize(("why", "day"), [(" ", None), ("x", date(2020, 1, 1)), ("x", date(2100, 1, 1))])
    def test_needs_a_reason_and_a_day_to_come(
        self, site: FallbackSite, ada: User, why: str, day: date | None
    ) -> None:
        with pytest.raises(PlanError):
            suppression_ask(subject=site, justification=why, actor=ada, expires_on=day)
        assert not Suppression.objects.exists()

    def test_twice_is_refused(self, site: FallbackSite, ada: User, lea: User) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        with pytest.raises(PlanError, match="asked for already: one"):
            suppression_ask(subject=site, justification="two", actor=lea)

    def test_is_about_what_the_scanner_sees(
        self, repository: Repository, site: FallbackSite, ada: User
    ) -> None:
        ingest(repository, make_report([], files=[make_result().path]))
        with pytest.raises(TransitionNotAllowedError, match="does not see"):
            suppression_ask(subject=site, justification="one", actor=ada)

    def test_is_about_what_a_lead_could_suppress(self, site: FallbackSite, ada: User) -> None:
        SiteMigration.objects.update(status=Status.VERIFIED.value)
        with pytest.raises(TransitionNotAllowedError, match="can't become"):
            suppression_ask(subject=site, justification="one", actor=ada)
        assert not Suppression.objects.exists()

    def test_is_about_what_the_plan_holds(self, site: FallbackSite, ada: User) -> None:
        site.pk, site.correlation_guid = None, uuid4()
        site.save()
        with pytest.raises(PlanError, match="no migration"):
            suppression_ask(subject=site, justification="one", actor=ada)

    def test_is_taken_back_by_whoever_asked(self, site: FallbackSite, ada: User, lea: User) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        with pytest.raises(PlanError, match="ada asked for it"):
            suppression_withdraw(subject=site, actor=lea)
        suppression_withdraw(subject=site, actor=ada)
        with pytest.raises(ChangedMeanwhileError):
            suppression_withdraw(subject=site, actor=ada)

    def test_ends_when_the_scanner_no_longer_sees_the_site(
        self, repository: Repository, site: FallbackSite, ada: User
    ) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        ingest(repository, make_report([], files=[make_result().path]))
        assert Suppression.objects.get().ended_at is not None


class TestRuling:
    def test_that_nobody_asked_for_has_no_words_of_an_asker(self, site: FallbackSite, lea: User) -> None:
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=lea, reason="two numbers")
        ruled = Suppression.objects.get()
        assert (ruled.requested_because, ruled.has_other_words) == ("", False)

    def test_in_the_asker_s_own_words_has_no_others(self, site: FallbackSite, ada: User, lea: User) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=lea, reason="one")
        assert not Suppression.objects.get().has_other_words

    def test_is_a_lead_s(self, site: FallbackSite, ada: User) -> None:
        with pytest.raises(TransitionNotAllowedError, match="Only a lead suppresses"):
            site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="fine")
        assert status_of(site) == "open"

    def test_a_lead_of_another_repository_is_none_here(self, site: FallbackSite) -> None:
        other = make_user("otto", role=None)
        make_member(other, Role.LEAD, make_repository("other"))
        make_member(other, Role.ENGINEER, site.repository)
        with pytest.raises(TransitionNotAllowedError):
            site_migration_transition(site=site, to=Status.SUPPRESSED, actor=other, reason="fine")

    def test_answers_what_was_asked_for(self, site: FallbackSite, ada: User, lea: User) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        site_migration_transition(site=site, to=Status.SUPPRESSED, actor=lea, reason="yes, two numbers")
        ruled = Suppression.objects.get()
        assert (ruled.status, ruled.requested_by, ruled.decided_by) == ("accepted", ada, lea)
        assert (ruled.justification, status_of(site)) == ("yes, two numbers", "suppressed")
        assert (ruled.requested_because, ruled.has_other_words) == ("one", True)
        events = apps.get_model("migrations_tracker.SuppressionEvent")._default_manager.order_by("pgh_id")
        assert [row.status for row in events.all()] == ["underReview", "accepted"]

    def test_a_refusal_has_a_reason_and_leaves_the_site_open(
        self, site: FallbackSite, ada: User, lea: User
    ) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        with pytest.raises(PlanError):
            suppression_reject(subject=site, reason=" ", actor=lea)
        refused = suppression_reject(subject=site, reason="it has a kernel", actor=lea)
        assert (refused.status, refused.ended_because) == ("rejected", "it has a kernel")
        assert status_of(site) == "open"
        suppression_ask(subject=site, justification="again", actor=ada)

    @pytest.mark.parametrize("answer", ["asked", "rejected", "withdrawn", "over"])
    def test_is_made_of_what_is_seen(self, site: FallbackSite, ada: User, lea: User, answer: str) -> None:
        if answer != "asked":
            suppression_ask(subject=site, justification="one", actor=ada, expires_on=TODAY())
        seen = SiteMigration.objects.get().version
        if answer == "asked":
            suppression_ask(subject=site, justification="one", actor=ada)
        elif answer == "rejected":
            suppression_reject(subject=site, reason="it has a kernel", actor=make_user("lou", role=Role.LEAD))
        elif answer == "withdrawn":
            suppression_withdraw(subject=site, actor=ada)
        else:
            suppressions_expire(today=TODAY() + timedelta(days=1))
        with pytest.raises(ChangedMeanwhileError):
            site_migration_transition(
                site=site, to=Status.SUPPRESSED, actor=lea, reason="fine", seen_version=seen
            )
        assert status_of(site) == "open"

    def test_refuses_only_the_question_that_was_read(self, site: FallbackSite, ada: User, lea: User) -> None:
        suppression_ask(subject=site, justification="one", actor=ada)
        seen = SiteMigration.objects.get().version
        suppression_withdraw(subject=site, actor=ada)
        suppression_ask(subject=site, justification="another", actor=ada)
        with pytest.raises(ChangedMeanwhileError, match="while you looked"):
            suppression_reject(subject=site, reason="no", actor=lea, seen_version=seen)
        suppression_reject(subject=site, reason="no", actor=lea, seen_version=seen + 2)

    @pytest.mark.parametrize(("said", "kept"), [(None, 30), (3, 3)])
    def test_lasts_as_long_as_was_asked_for_unless_it_says_otherwise(
        self, site: FallbackSite, ada: User, lea: User, said: int | None, kept: int
    ) -> None:
        today = TODAY()
        suppression_ask(subject=site, justification="one", actor=ada, expires_on=today + timedelta(days=30))
        site_migration_transition(
            site=site,
            to=Status.SUPPRESSED,
            actor=lea,
            reason="yes",
            expires_on=today + timedelta(days=said) if said else None,
        )
        assert Suppression.objects.get().expires_on == today + timedelta(days=kept)

    def test_the_database_keeps_no_refusal_in_force(self, site: FallbackSite, lea: User) -> None:
        with pytest.raises(IntegrityError, match="suppression_rejected_has_ended"), transaction.atomic():
            Suppression.objects.create(
                site=site, status="rejected", justification="x", requested_by=lea, decided_by=lea
            )


class TestTheLastDay:
    def test_is_a_suppression_s_alone(self, site: FallbackSite, lea: User) -> None:
        with pytest.raises(PlanError, match="Only a suppression has a last day"):
            site_migration_transition(site=site, to=Status.ACCEPTED, actor=lea, expires_on=TODAY())

    def test_opens_the_site_again_after_it_and_once(self, site: FallbackSite, lea: User) -> None:
        last = TODAY() + timedelta(days=3)
        site_migration_transition(
            site=site, to=Status.SUPPRESSED, actor=lea, reason="until the release", expires_on=last
        )
        assert suppressions_expire(today=last) == 0
        assert status_of(site) == "suppressed"
        assert suppressions_expire(today=last + timedelta(days=1)) == 1
        assert suppressions_expire(today=last + timedelta(days=1)) == 0
        step = Transition.objects.latest("id")
        assert (step.from_status, step.to_status, step.cause) == ("suppressed", "open", "calendar")
        assert "until the release" in step.reason
        assert status_of(site) == "open"
        assert Suppression.objects.get().ended_because == "Its last day is over."
        assert not Precedent.objects.filter(ended_at=None).exists()
        assert SiteMigration.objects.get().version == 3

    def test_ends_a_question_that_nobody_answered(self, site: FallbackSite, ada: User) -> None:
        suppression_ask(subject=site, justification="one", actor=ada, expires_on=TODAY())
        assert suppressions_expire(today=TODAY() + timedelta(days=1)) == 1
        assert status_of(site) == "open"
        assert Transition.objects.count() == 1
