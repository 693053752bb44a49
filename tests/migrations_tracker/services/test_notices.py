"""Who is told what: new sites, regressions, failures and drops, once each."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from audit.models import AskedBy, BranchScan, HeldDrop, Repository, RowState, ScanRequest, ScanRun
from audit.services.leases import lease_wake
from audit.services.repositories import branch_note
from migrations_tracker.errors import PlanError
from migrations_tracker.models import (
    Channel,
    Delivery,
    Frequency,
    Membership,
    Notice,
    NoticeKind,
    Subscription,
)
from migrations_tracker.roles import Role
from migrations_tracker.selectors.deliveries import NOTICES_SHOWN
from migrations_tracker.services.deliveries import delivery_again, delivery_execute, webhook_secret
from migrations_tracker.services.notices import notices_collect
from migrations_tracker.services.subscriptions import subscription_create, subscription_end
from migrations_tracker.webhooks import NotDeliveredError, address_check, post
from tests.factories import (
    ingest,
    make_member,
    make_report,
    make_repository,
    make_result,
    make_scan_run,
    make_user,
)
from tests.fixtures.receiver import Receiver

pytestmark = pytest.mark.django_db

RESULTS = [make_result(f"minitorch_gpu::ops::op{number}", line=number + 1) for number in range(8)]


@pytest.fixture(autouse=True)
def places(settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    settings.SITE_URL = "https://audit.example.org"
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture
def repository() -> Repository:
    return make_repository()


Tell = Callable[..., Subscription]


@pytest.fixture
def tell(ada: User) -> Tell:
    def make(**changes: object) -> Subscription:
        given: dict[str, object] = {
            "owner": ada,
            "repository": None,
            "kinds": NoticeKind.values,
            "channel": Channel.EMAIL,
        }
        return subscription_create(**{**given, **changes})  # type: ignore[arg-type]

    return make


def deliver() -> list[bool]:
    return [delivery_execute(pk=delivery.pk) for delivery in notices_collect()]


def test_new_sites_are_told_once_with_their_places(repository: Repository, tell: Tell) -> None:
    tell()
    ingest(repository, make_report(RESULTS[:3]))
    assert deliver() == [True]
    assert deliver() == []
    (message,) = mail.outbox
    assert message.to == ["ada@example.org"]
    assert message.subject.startswith("minitorch: 3 sites new on main")
    assert "FT001 minitorch-gpu/src/ops.rs:1 minitorch_gpu::ops::op0" in message.body
    assert "https://audit.example.org/scans/" in message.body


def test_a_branch_that_begins_to_be_followed_tells_of_what_no_other_branch_has(
    repository: Repository, tell: Tell
) -> None:
    ingest(repository, make_report(RESULTS[:3]))
    tell()
    notices_collect()
    topic = branch_note(repository=repository, name="topic", is_default=False)
    ingest(repository, make_report(RESULTS[:4]), branch=topic)
    notices_collect()
    [told] = Notice.objects.filter(branch_name="topic")
    assert (told.title.partition(" at ")[0], told.count) == ("1 site new on topic", 1)
    assert [item["symbol"] for item in told.items] == [RESULTS[3].symbol]
    ingest(repository, make_report(RESULTS[:4]))
    notices_collect()
    assert Notice.objects.filter(branch_name="main").count() == 2


def test_what_comes_back_is_told_as_a_regression(repository: Repository, tell: Tell) -> None:
    ingest(repository, make_report(RESULTS[:3]))
    ingest(repository, make_report(RESULTS[:2], files=["minitorch-gpu/src/ops.rs"]))
    notices_collect()
    tell(kinds=[NoticeKind.REGRESSIONS])
    ingest(repository, make_report(RESULTS[:3]))
    assert deliver() == [True]
    assert "1 site back on main" in mail.outbox[0].subject
    assert "op2" in mail.outbox[0].body


def test_many_that_vanish_without_an_outcome_are_told(repository: Repository, tell: Tell) -> None:
    tell(kinds=[NoticeKind.SUSPICIOUS_DROP])
    ingest(repository, make_report(RESULTS))
    ingest(repository, make_report(files=["minitorch-gpu/src/ops.rs"]), is_told=False)
    assert deliver() == [True]
    assert "8 sites vanished from main" in mail.outbox[0].subject
    assert f"https://audit.example.org{HeldDrop.objects.get().get_absolute_url()}" in mail.outbox[0].body
    assert "FT001 minitorch-gpu/src/ops.rs:1 minitorch_gpu::ops::op0" in mail.outbox[0].body


def fail(scan_run: ScanRun, reason: str = "no Rust file") -> None:
    ScanRun.objects.filter(pk=scan_run.pk).update(
        state=RowState.FAILED, failure_reason=reason, finished_at=Now()
    )


def test_a_failed_scan_is_told_with_its_reason_and_again_when_it_fails_again(
    repository: Repository, tell: Tell
) -> None:
    tell()
    scan_run = make_scan_run(repository)
    fail(scan_run)
    assert deliver() == [True]
    assert "no Rust file" in mail.outbox[0].body
    assert deliver() == []
    ScanRun.objects.update(finished_at=timezone.now() + timedelta(seconds=5))
    assert deliver() == [True]


def test_a_schedule_that_fails_every_hour_is_told_once(repository: Repository, tell: Tell) -> None:
    tell()
    for reason in ("unreachable", "unreachable", "unreachable", "disk full"):
        ScanRequest.objects.create(
            repository=repository,
            follows=True,
            asked_by=AskedBy.SCHEDULE,
            state=RowState.FAILED,
            failure_reason=reason,
            finished_at=timezone.now(),
        )
        deliver()
    first, second = mail.outbox
    assert "unreachable" in first.body
    assert "disk full" in second.body


def test_each_is_told_what_they_asked_for_alone(repository: Repository, tell: Tell, ada: User) -> None:
    other = make_repository("other")
    eve, grace = make_user("eve"), make_user("grace")
    tell(repository=other)
    tell(owner=eve, kinds=[NoticeKind.SCAN_FAILED])
    tell(owner=grace, repository=repository)
    gone = tell(owner=grace)
    subscription_end(subscription=gone)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    ingest(repository, make_report(RESULTS[:1]))
    ingest(other, make_report(RESULTS[:1]))
    deliver()
    assert [message.to for message in mail.outbox] == [["grace@example.org"]]


def test_the_past_that_was_read_in_is_no_news(repository: Repository, tell: Tell) -> None:
    tell()
    ingest(repository, make_report(RESULTS))
    ScanRun.objects.update(attempts=0)
    assert deliver() == []
    ScanRun.objects.update(attempts=1)
    BranchScan.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert deliver() == []


def test_a_digest_holds_a_day_and_comes_once_a_day(
    repository: Repository, tell: Tell, settings: Settings
) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    subscription = tell(frequency=Frequency.DAILY)
    ingest(repository, make_report(RESULTS[:1]))
    ingest(repository, make_report(RESULTS[:3]))
    zone = ZoneInfo("Asia/Tokyo")
    today = timezone.localdate(timezone=zone)

    def at(hour: int, days: int = 0) -> datetime:
        return datetime(today.year, today.month, today.day, hour, 30, tzinfo=zone) + timedelta(days=days)

    with timezone.override("Asia/Tokyo"):
        assert notices_collect(now=at(6)) == []
        made = notices_collect(now=at(7))
        assert [delivery.key for delivery in made] == [f"{subscription.pk}:digest:{today}"]
        assert notices_collect(now=at(8)) == notices_collect(now=at(9)) == []
        assert delivery_execute(pk=made[0].pk)
        assert mail.outbox[0].subject == "2 notices of minitorch"
        assert notices_collect(now=at(7, days=1)) == [], "nothing happened since"
        ingest(repository, make_report(RESULTS[:4]))
        BranchScan.objects.filter(new_count=1, position=3).update(created_at=at(6, days=1))
        assert [len(d.notices.all()) for d in notices_collect(now=at(7, days=1))] == [1]


def test_a_webhook_s_message_is_signed(repository: Repository, tell: Tell, receiver: Receiver) -> None:
    subscription = tell(channel=Channel.WEBHOOK, address=f"{receiver.address}/hook?x=1")
    ingest(repository, make_report(RESULTS[:2]))
    assert deliver() == [True]
    (body,), (headers,) = receiver.bodies, receiver.headers
    secret = webhook_secret(subscription=subscription)
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Ferroaudit-Signature-256"] == f"sha256={expected}"
    (notice,) = json.loads(body)["notices"]
    assert (notice["kind"], notice["count"], len(notice["items"])) == ("new-sites", 2, 2)
    assert secret not in str(Subscription.objects.values())


def test_a_message_that_does_not_arrive_is_sent_again_and_listed(
    repository: Repository, tell: Tell, receiver: Receiver, ada: User
) -> None:
    tell(channel=Channel.WEBHOOK, address=receiver.address)
    receiver.statuses = [500, 404, 503, 200]
    ingest(repository, make_report(RESULTS[:1]))
    assert deliver() == [False]
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == (RowState.PENDING, 1)
    assert "500" in delivery.failure_reason
    assert lease_wake(model=Delivery) == [], "not before its time"
    Delivery.objects.update(woken_at=timezone.now() - timedelta(minutes=2))
    assert lease_wake(model=Delivery) == [delivery.pk]
    assert not delivery_execute(pk=delivery.pk)
    assert not delivery_execute(pk=delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (RowState.FAILED, 3)
    assert not delivery_execute(pk=delivery.pk)
    client = Client()
    client.force_login(ada)
    listed = client.get("/notices/?state=failed").content.decode()
    assert "503" in listed
    assert "Send again" in listed
    assert delivery_again(delivery=delivery)
    assert delivery_execute(pk=delivery.pk)
    assert not delivery_execute(pk=delivery.pk)
    assert len(receiver.bodies) == 4
    assert len({headers["X-Ferroaudit-Delivery"] for headers in receiver.headers}) == 1


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [302]
    with pytest.raises(NotDeliveredError, match="302"):
        post(receiver.address, b"{}", {})
    assert len(receiver.bodies) == 1


def test_nothing_is_posted_into_the_inner_network(settings: Settings, receiver: Receiver) -> None:
    settings.WEBHOOK_HOSTS = []
    for host in ("127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "[::1]", "0.0.0.0"):  # noqa: S104
        with pytest.raises(NotDeliveredError, match="inner network"):
            post(f"http://{host}:{receiver.address.rsplit(':', 1)[1]}/", b"{}", {})
    assert receiver.bodies == []


@pytest.mark.parametrize(
    "address",
    ["", "ftp://127.0.0.1/x", "http://", "https://me:x@127.0.0.1/", "http://elsewhere.org", "http://a b"],
)
def test_an_address_that_nothing_may_be_posted_to_is_refused(address: str) -> None:
    with pytest.raises(PlanError):
        address_check(address)


def test_a_wish_is_kept_once_and_needs_a_way_to_be_met(
    tell: Tell, ada: User, settings: Settings, repository: Repository
) -> None:
    tell()
    tell(repository=repository)
    with pytest.raises(PlanError, match="already"):
        tell(kinds=[NoticeKind.NEW_SITES])
    with pytest.raises(PlanError, match="Choose"):
        tell(kinds=["weather"])
    settings.EMAIL_HOST = ""
    with pytest.raises(PlanError, match="EMAIL_HOST"):
        tell(owner=make_user("eve"))
    assert Subscription.objects.count() == 2


def test_a_wish_is_made_and_ended_on_the_page(ada: User, repository: Repository) -> None:
    client = Client()
    client.force_login(ada)
    given = {"repository": repository.pk, "kinds": ["new-sites"], "frequency": "daily", "channel": "email"}
    assert client.post("/notices/", {**given, "channel": "webhook"}).status_code == 422
    assert b"From now on you are told" in client.post("/notices/", given, follow=True).content
    subscription = Subscription.objects.get()
    other = Client()
    other.force_login(make_user("eve"))
    assert other.post(f"/notices/{subscription.pk}/stop/").status_code == 404
    client.post(f"/notices/{subscription.pk}/stop/")
    subscription.refresh_from_db()
    assert subscription.ended_at is not None
    assert Notice.objects.count() == 0


def test_a_message_of_many_notices_shows_its_first_and_leads_to_all(
    ada: User, repository: Repository, tell: Tell, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    wish = tell()
    notices = Notice.objects.bulk_create(
        Notice(kind="new-sites", key=f"k{n}", repository=repository, title=f"Notice {n}.", path="/sites/")
        for n in range(3 * NOTICES_SHOWN)
    )
    sent = [
        Delivery.objects.create(subscription=wish, key=f"m{n}", state="succeeded", finished_at=timezone.now())
        for n in range(4)
    ]
    for one in sent[:3]:
        one.notices.set(notices)
    sent[3].notices.set(notices[:1])
    client = Client()
    client.force_login(ada)
    with django_assert_max_num_queries(12):
        page = client.get("/notices/").content.decode()
    assert page.count(": Notice ") == 3 * NOTICES_SHOWN + 1
    assert page.count(f">All {3 * NOTICES_SHOWN}</a>") == 3
    alone = client.get(f"/notices/?message={sent[1].pk}").content.decode()
    assert alone.count(": Notice ") == 3 * NOTICES_SHOWN
    assert ">All " not in alone.replace(">All messages<", "")
    other = Client()
    other.force_login(make_user("zoe"))
    assert ": Notice " not in other.get(f"/notices/?message={sent[1].pk}").content.decode()


@pytest.mark.parametrize("change", ["role", "switched off"])
def test_a_message_that_waits_is_not_sent_to_who_may_read_no_more(
    repository: Repository, tell: Tell, ada: User, client: Client, change: str
) -> None:
    tell()
    ingest(repository, make_report(RESULTS[:3]))
    (delivery,) = notices_collect()
    if change == "role":
        Membership.objects.filter(user=ada).delete()
    else:
        User.objects.filter(pk=ada.pk).update(is_active=False)
    assert not delivery_execute(pk=delivery.pk)
    assert mail.outbox == []
    delivery.refresh_from_db()
    assert "may not read" in delivery.failure_reason


def test_of_many_repositories_a_message_tells_of_those_that_may_still_be_read(
    repository: Repository, tell: Tell, ada: User, client: Client, settings: Settings
) -> None:
    settings.DIGEST_HOUR = 0
    tell(frequency=Frequency.DAILY)
    other = make_repository("elsewhere")
    for one in (repository, other):
        ingest(one, make_report(RESULTS[:3]))
    (delivery,) = notices_collect()
    Membership.objects.filter(user=ada).delete()
    make_member(ada, Role.READER, repository)
    assert delivery_execute(pk=delivery.pk)
    (message,) = mail.outbox
    assert "elsewhere" not in f"{message.subject} {message.body}"
    client.force_login(ada)
    page = client.get(reverse("notice-list")).content.decode()
    assert "minitorch: 3 sites" in page
    assert "elsewhere" not in page
