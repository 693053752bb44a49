"""Noticing what happened, and making a message for each who wants to be told: once, however often looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from audit.models import (
    BranchScan,
    HeldSite,
    RowState,
    ScanRequest,
    ScanRun,
    SiteEvent,
    SiteEventKind,
    SiteState,
)
from migrations_tracker.models import Channel, Delivery, Frequency, Notice, NoticeKind, Subscription
from migrations_tracker.models.notice import PERSONAL
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of
from migrations_tracker.services.due_notices import due_notices
from migrations_tracker.services.owner_notices import owner_notices
from migrations_tracker.services.personal_notices import personal_notices
from migrations_tracker.services.subscriptions import subscriptions_begin

# What is older when it is first looked at was told already, or nobody was there to be told.
LOOKS_BACK = timedelta(days=1)
ITEMS_KEPT = 50
_LOCK = 7204


def notices_collect(*, now: datetime | None = None) -> list[Delivery]:
    """Notice what happened since the last look; return the messages that are to be sent."""
    now = now or timezone.now()
    with transaction.atomic():
        # One at a time: two that look at the same moment would make the same messages.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        found = [*_of_branches(now), *_of_failed_scans(now), *_of_failed_requests(now)]
        since = now - LOOKS_BACK
        personal = [*personal_notices(since=since), *owner_notices(since=since), *due_notices(now=now)]
        people = {notice.key: told for notice, told in personal}
        found += [notice for notice, _ in personal]
        known = set(Notice.objects.filter(key__in=[one.key for one in found]).values_list("key", flat=True))
        fresh = Notice.objects.bulk_create(one for one in found if one.key not in known)
        _people_keep(fresh, people)
        return [*_at_once(fresh, people), *_digests(now)]


def _people_keep(fresh: Sequence[Notice], people: Mapping[str, frozenset[int]]) -> None:
    """Keep whom notices concern, and begin to tell those who never said how they want to be told."""
    through = Notice.people.through
    rows = [
        through(notice_id=notice.pk, user_id=person)
        for notice in fresh
        for person in sorted(people.get(notice.key, ()))
    ]
    through._default_manager.bulk_create(rows)
    subscriptions_begin(people={row.user_id for row in rows})


def _of_branches(now: datetime) -> list[Notice]:
    moved = (
        # What no worker ran was read into the history afterwards: that is the past, and no news.
        BranchScan.objects.filter(created_at__gt=now - LOOKS_BACK, scan_run__attempts__gte=1).select_related(
            "scan_run__repository", "scan_run__commit", "branch", "held_drop", "previous__scan_run"
        )
    )
    found: list[Notice] = []
    for scan in moved:
        drop = getattr(scan, "held_drop", None)
        commit = scan.scan_run.commit.short_id
        why = ": the code is the same, the scanner is another" if scan.is_same_code else ""
        of_kind = (
            (NoticeKind.NEW_SITES, _new_count(scan), f"new on {scan.branch.name} at {commit}{why}"),
            (NoticeKind.REGRESSIONS, scan.reopened_count, f"back on {scan.branch.name} at {commit}{why}"),
            (
                NoticeKind.SUSPICIOUS_DROP,
                drop.site_count if drop is not None and drop.is_suspicious else 0,
                f"vanished from {scan.branch.name} at {commit} without a known outcome: held until you rule",
            ),
        )
        for kind, count, what in of_kind:
            if count:
                found.append(_of_branch_scan(scan, kind, count, what))
    return found


def _new_count(scan: BranchScan) -> int:
    """Count what is news: on a branch that begins to be followed everything is new, and most is known."""
    if scan.previous_id is not None or not scan.new_count:
        return scan.new_count
    return SiteEvent.objects.filter(_new_in(scan)).count()


def _new_in(scan: BranchScan) -> Q:
    """Select the events of sites that a scan brought; a branch's first one, those no other branch knows."""
    brought = Q(branch_scan=scan, kind=SiteEventKind.NEW)
    if scan.previous_id is not None:
        return brought
    known = SiteState.objects.filter(site=OuterRef("site")).exclude(branch=scan.branch_id)
    return Q(brought, ~Exists(known))


def _of_branch_scan(scan: BranchScan, kind: NoticeKind, count: int, what: str) -> Notice:
    return Notice(
        kind=kind,
        key=f"{kind}:{scan.pk}",
        repository=scan.scan_run.repository,
        scan_run=scan.scan_run,
        branch_name=scan.branch.name,
        title=f"{count} site{'s' * (count != 1)} {what}",
        path=(scan.held_drop if kind is NoticeKind.SUSPICIOUS_DROP else scan.scan_run).get_absolute_url(),
        count=count,
    )


def _of_failed_scans(now: datetime) -> list[Notice]:
    failed = ScanRun.objects.filter(state=RowState.FAILED, finished_at__gt=now - LOOKS_BACK)
    return [
        Notice(
            kind=NoticeKind.SCAN_FAILED,
            # One that is tried again and fails again is news.
            key=f"scan-failed:scan:{run.pk}:{run.finished_at:%Y%m%dT%H%M%S}",
            repository=run.repository,
            scan_run=run,
            branch_name=run.branch.name if run.branch else "",
            title=f"scan #{run.pk} of {run.commit.short_id} failed",
            path=run.get_absolute_url(),
            items=[{"text": run.failure_reason[:1000]}],
        )
        for run in failed.select_related("repository", "commit", "branch")
    ]


def _of_failed_requests(now: datetime) -> list[Notice]:
    """Tell of requests that could not be met, of a series that fails for the same reason the first."""
    failed = ScanRequest.objects.filter(state=RowState.FAILED, finished_at__gt=now - LOOKS_BACK)
    found = []
    for request in failed.select_related("repository"):
        before = (
            ScanRequest.objects.filter(
                repository=request.repository,
                revision=request.revision,
                follows=request.follows,
                pk__lt=request.pk,
                finished_at__isnull=False,
            )
            .order_by("-pk")
            .first()
        )
        if before is not None and before.failure_reason == request.failure_reason:
            continue
        found.append(
            Notice(
                kind=NoticeKind.SCAN_FAILED,
                key=f"scan-failed:request:{request.pk}",
                repository=request.repository,
                title=f"a scan asked for by {request.get_asked_by_display()} could not be started",
                path=request.get_absolute_url(),
                items=[{"text": request.failure_reason[:1000]}],
            )
        )
    return found


def _at_once(fresh: Sequence[Notice], people: Mapping[str, frozenset[int]]) -> list[Delivery]:
    if not fresh:
        return []
    subscribed = list(_in_force().filter(frequency=Frequency.AT_ONCE))
    made = _personal_at_once(fresh, people, subscribed)
    for notice in fresh:
        if notice.key in people:
            continue
        fitting = [one for one in subscribed if _wants(one, notice)]
        if fitting:
            _list_items(notice)
        for one in fitting:
            delivery = Delivery.objects.create(subscription=one, key=f"{one.pk}:{notice.key}")
            delivery.notices.add(notice)
            made.append(delivery)
    return made


def _personal_at_once(
    fresh: Sequence[Notice], people: Mapping[str, frozenset[int]], subscribed: Sequence[Subscription]
) -> list[Delivery]:
    """Make one message for each person of all that happened since the last look: it may be many sites."""
    made = []
    for one in subscribed:
        mine = [
            notice for notice in fresh if one.owner_id in people.get(notice.key, ()) and _wants(one, notice)
        ]
        if mine:
            delivery = Delivery.objects.create(subscription=one, key=f"{one.pk}:{mine[0].key}")
            delivery.notices.set(mine)
            made.append(delivery)
    return made


def _digests(now: datetime) -> list[Delivery]:
    here = timezone.localtime(now)
    if here.hour < settings.DIGEST_HOUR:
        return []
    made = []
    today = f"digest:{here:%Y-%m-%d}"
    done = Delivery.objects.filter(key__endswith=f":{today}").values_list("subscription_id", flat=True)
    for one in _in_force().filter(frequency=Frequency.DAILY).exclude(pk__in=done):
        waiting = Notice.objects.filter(
            ~Q(kind__in=PERSONAL) | Q(people=one.owner),
            pk__gt=one.told_up_to,
            created_at__gt=one.created_at,
            kind__in=one.kinds,
        ).order_by("pk")
        notices = [notice for notice in waiting if _wants(one, notice)]
        if not notices:
            continue
        for notice in notices:
            _list_items(notice)
        delivery = Delivery.objects.create(subscription=one, key=f"{one.pk}:{today}")
        delivery.notices.set(notices)
        Subscription.objects.filter(pk=one.pk).update(told_up_to=notices[-1].pk)
        made.append(delivery)
    return made


def _in_force() -> Any:
    reachable = Q(channel=Channel.WEBHOOK) | ~Q(owner__email="")
    return Subscription.objects.filter(reachable, ended_at=None, owner__is_active=True).select_related(
        "owner"
    )


def _wants(subscription: Subscription, notice: Notice) -> bool:
    if notice.kind not in subscription.kinds:
        return False
    if subscription.repository_id not in {None, notice.repository_id}:
        return False
    return standing_of(subscription.owner).role_in(notice.repository_id) >= Role.READER


_OF_BRANCHES = (NoticeKind.NEW_SITES, NoticeKind.REGRESSIONS, NoticeKind.SUSPICIOUS_DROP)


def _list_items(notice: Notice) -> None:
    """Write the sites of a notice into it, once somebody is to read them."""
    kind = NoticeKind(notice.kind)
    if kind not in _OF_BRANCHES or notice.items:
        return
    scan = BranchScan.objects.get(pk=int(notice.key.rsplit(":", 1)[1]))
    told: QuerySet[SiteEvent] | QuerySet[HeldSite]
    if kind is NoticeKind.SUSPICIOUS_DROP:
        told = HeldSite.objects.filter(drop__branch_scan=scan)
    elif kind is NoticeKind.NEW_SITES:
        told = SiteEvent.objects.filter(_new_in(scan))
    else:
        told = SiteEvent.objects.filter(branch_scan=scan, kind=SiteEventKind.REOPENED)
    sites = list(told.order_by("pk").values_list("site_id", flat=True)[:ITEMS_KEPT])
    states = SiteState.objects.filter(branch=scan.branch_id, site__in=sites).order_by("path", "start_line")
    notice.items = [
        {
            "site": state.site_id,
            "rule": state.rule_id,
            "path": state.path,
            "line": state.start_line,
            "symbol": state.symbol,
        }
        for state in states
    ]
    notice.save(update_fields=["items"])
