"""What people and machines did around a large repository: rulings, wishes, notices, jobs and their answers.

Every list that has pages has some hundred of them or more, and of each kind of thing one is large: a bulk
change of thousands of sites, a drop with 500 held sites, a pull request with 400, an audit with 2,000
findings, a job with 100 verifications, a site with 200 comments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from audit.parity.catalogue import newest
from audit.parity.matching import Matcher
from audit.parity.operations import Operation, OperationKind
from audit.scanner.matching import MatchPass
from benchmarks import large_proof

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from audit.models import Branch, FallbackSite

PEOPLE = 60
COMMENTS, OF_ONE_SITE = 5000, 200
WATCHES = 3000
NOTICES = 20_000
HELD = 500
PULL_REQUESTS, OF_ONE_PULL_REQUEST = 300, 400
AUDITS, FINDINGS = 120, 2000
OPERATIONS = 3000
NOTES = 200
REQUESTS = 300
REVISIONS = 60


def act(branch: Branch, person: User) -> None:
    """Write it all for a branch whose sites, gaps, entries and plan are there."""
    _taken_part(branch, person)
    _told(branch, person)
    _changed(branch, person)
    _doubted(branch, person)
    _pull_requests(branch)
    _audits(branch, person)
    _matches(branch, person)
    large_proof.prove(branch)
    _policy(branch, person)


def _open_sites(branch: Branch, count: int) -> list[FallbackSite]:
    states = branch.site_states.filter(is_open=True).select_related("site").order_by("site")
    return [state.site for state in states[:count]]


def _taken_part(branch: Branch, person: User) -> None:
    from django.contrib.auth.models import User

    from audit.models import AuditNote, CapabilityGap, EntryRevision, KnowledgeEntry
    from migrations_tracker.models import Comment, Membership, Watch
    from migrations_tracker.roles import Role
    from migrations_tracker.services.comments import comment_create

    people = User.objects.bulk_create(User(username=f"member-{number}") for number in range(PEOPLE))
    Membership.objects.bulk_create(
        Membership(user=one, repository=branch.repository, role=Role.ENGINEER) for one in people
    )
    sites = _open_sites(branch, COMMENTS)
    Comment.objects.bulk_create(
        (
            Comment(
                site=sites[0] if number < OF_ONE_SITE else sites[number % len(sites)],
                author=people[number % PEOPLE],
                text=f"Remark {number}: the kernel is **there**, see `launch_{number}`.",
            )
            for number in range(COMMENTS)
        ),
        batch_size=1000,
    )
    # Who comments on a site watches it from then on.
    comment_create(subject=sites[0], author=person, text="The log.", files=[("log.txt", b"as it was\n" * 99)])
    Watch.objects.bulk_create(Watch(owner=person, site=site) for site in sites[1:WATCHES])
    gaps = CapabilityGap.objects.filter(repository=branch.repository)[:REQUESTS]
    Watch.objects.bulk_create(Watch(owner=person, gap=gap) for gap in gaps)
    assert branch.last_scan is not None
    AuditNote.objects.bulk_create(
        AuditNote(
            repository=branch.repository,
            subject_kind="crate" if number % 2 else "operator",
            subject="crate-3" if number % 2 else "aten::exp",
            commit=branch.last_scan.commit,
            read_on=timezone.localdate(),
            reader=people[number % PEOPLE],
            text=f"Read on {number}.",
        )
        for number in range(NOTES)
    )
    entry = KnowledgeEntry.objects.latest("id")
    EntryRevision.objects.bulk_create(
        EntryRevision(
            entry=entry, number=number, title=entry.title, text=entry.text, is_draft=False, author=person
        )
        for number in range(1, REVISIONS + 1)
    )
    KnowledgeEntry.objects.filter(pk=entry.pk).update(published_number=REVISIONS, latest_number=REVISIONS)


def _told(branch: Branch, person: User) -> None:
    from migrations_tracker.models import Delivery, Notice, NoticeKind, ReportSchedule, Subscription
    from migrations_tracker.models.notice import PERSONAL

    kinds = list(NoticeKind)
    notices = Notice.objects.bulk_create(
        (
            Notice(
                kind=kinds[number % len(kinds)],
                key=f"benchmark {number}",
                repository=branch.repository,
                title=f"Notice {number}",
                path="/sites/",
                items=[{"text": f"site {number}", "path": "/sites/"}],
                count=1,
            )
            for number in range(NOTICES)
        ),
        batch_size=1000,
    )
    through = Notice.people.through
    through.objects.bulk_create(
        through(notice_id=one.pk, user_id=person.pk) for one in notices if one.kind in PERSONAL
    )
    wish = Subscription.objects.create(
        owner=person, repository=branch.repository, kinds=["new-sites"], channel="email"
    )
    for number in range(REQUESTS):
        sent = Delivery.objects.create(
            subscription=wish, key=f"benchmark {number}", state="succeeded", finished_at=timezone.now()
        )
        sent.notices.set(notices[20 * number : 20 * number + 20])
    ReportSchedule.objects.create(branch=branch, period="weekly", made_by=person).recipients.add(person)


def _changed(branch: Branch, person: User) -> None:
    from audit.models import ScanRequest
    from migrations_tracker.lifecycle import Status
    from migrations_tracker.models import BulkChange
    from migrations_tracker.selectors.bulk_changes import migrations_matching
    from migrations_tracker.selectors.site_list import SiteFilters
    from migrations_tracker.services.bulk_changes import bulk_change_create

    for number in range(NOTES):
        BulkChange.objects.create(
            branch=branch,
            to_status="accepted",
            reason=f"Change {number}",
            state="succeeded",
            requested_by=person,
            finished_at=timezone.now(),
        )
    filters = SiteFilters(crate="crate-3")
    bulk_change_create(
        branch=branch,
        filters=filters,
        to=Status.ACCEPTED,
        sets_assignee=False,
        assignee=None,
        reason="As agreed.",
        actor=person,
        seen_count=migrations_matching(branch=branch, filters=filters).count(),
    )
    ScanRequest.objects.bulk_create(
        ScanRequest(
            repository=branch.repository,
            revision=f"branch-{number}",
            state="succeeded",
            scan_run=branch.last_scan,
            finished_at=timezone.now(),
        )
        for number in range(REQUESTS)
    )
    ScanRequest.objects.create(
        repository=branch.repository,
        revision="nowhere",
        state="failed",
        failure_reason="There is no such revision.",
        finished_at=timezone.now(),
    )


def _doubted(branch: Branch, person: User) -> None:
    """Make one link of fifty at the last scan a guess, rule about some, and hold sites back."""
    from audit.models import HeldDrop, HeldSite, Lineage
    from audit.services.lineage_rulings import lineage_confirm

    links = Lineage.objects.filter(scan_run=branch.last_scan)
    guessed = list(links.order_by("pk").values_list("pk", flat=True))[::50]
    Lineage.objects.filter(pk__in=guessed).update(confidence=0.6, match_pass=MatchPass.NEAREST)
    for link in Lineage.objects.filter(pk__in=guessed[:PEOPLE]):
        lineage_confirm(lineage=link, actor=person)
    first, second = branch.history.order_by("position")[1:3]
    HeldDrop.objects.create(
        branch_scan=first,
        open_before=60_000,
        site_count=HELD,
        state="kept",
        reason="They moved.",
        decided_by=person,
        decided_at=timezone.now(),
    )
    drop = HeldDrop.objects.create(branch_scan=second, open_before=60_000, site_count=HELD)
    HeldSite.objects.bulk_create(HeldSite(drop=drop, site=site) for site in _open_sites(branch, HELD))


def _pull_requests(branch: Branch) -> None:
    from audit.models import PullRequest, PullRequestCheck, PullRequestSite

    told = PullRequest.objects.bulk_create(
        PullRequest(
            repository=branch.repository,
            number=number,
            title=f"Run operation {number} on the device",
            body="Implemented on GPU. Removed the silent fallback.",
            head_id=f"{number:040x}",
            base_id="b" * 40,
            is_open=number % 2 == 0,
            changed_at=timezone.now(),
        )
        for number in range(1, PULL_REQUESTS + 1)
    )
    PullRequestCheck.objects.bulk_create(
        PullRequestCheck(pull_request=one, head_id=one.head_id, base_id=one.base_id) for one in told[:-1]
    )
    check = PullRequestCheck.objects.create(
        pull_request=told[-1],
        head_id=told[-1].head_id,
        base_id=told[-1].base_id,
        head_scan=branch.last_scan,
        start_scan=branch.scan_runs.earliest("pk"),
        state="succeeded",
        finished_at=timezone.now(),
    )
    PullRequestSite.objects.bulk_create(
        PullRequestSite(
            check_row=check,
            site=site,
            is_new=bool(number % 2),
            outcome="" if number % 2 else "removed",
        )
        for number, site in enumerate(_open_sites(branch, OF_ONE_PULL_REQUEST))
    )


def _audits(branch: Branch, person: User) -> None:
    from audit.models import ImportedAudit
    from audit.services.imported_audits import audit_import

    assert branch.last_scan is not None
    commit = branch.last_scan.commit.object_id
    ImportedAudit.objects.bulk_create(
        ImportedAudit(
            repository=branch.repository, name=f"Audit {number}", format="markdown", commit_object_id=commit
        )
        for number in range(AUDITS)
    )
    states = branch.site_states.filter(is_open=True).order_by("site")[:FINDINGS]
    rows = "".join(
        f"| {state.path} | {state.start_line} | GPU operation {state.site_id} falls back to the CPU |\n"
        for state in states
    )
    audit_import(
        repository=branch.repository,
        data=f"| File | Line | Finding |\n|---|---|---|\n{rows}".encode(),
        file_name="large.md",
        actor=person,
        commit=commit,
    )


def _matches(branch: Branch, person: User) -> None:
    from audit.models import MatchRuling, OperationMatch
    from audit.services.matches import matches_store

    assert branch.last_scan is not None
    matcher = Matcher(newest())
    bases = sorted(base for base in newest().by_base if not base.startswith("_"))
    operations = (
        Operation(
            f"gpu_{bases[number % len(bases)]}_{number}",
            OperationKind.KERNEL,
            f"crate_{number % 22}::ops",
            f"crate-{number % 22}",
            f"crate-{number % 22}/src/ops.rs",
            number + 1,
        )
        for number in range(OPERATIONS)
    )
    matches_store(scan_run=branch.last_scan, matches=[matcher.match(one) for one in operations])
    MatchRuling.objects.bulk_create(
        MatchRuling(match=one, verdict="infrastructure", reason="It only counts.", decided_by=person)
        for one in OperationMatch.objects.order_by("pk")[:NOTES]
    )


def _policy(branch: Branch, person: User) -> None:
    from audit.services.repository_policies import policy_clause_publish, policy_levels_publish

    clause = {
        "kind": "forbidden",
        "title": "No host body in the solver",
        "text": "The solver crate has no host body, gated or not.",
        "reason": "It runs where no host memory is left.",
        "pytorch": "torch.linalg has none on CUDA either.",
        "right": "pub fn solve() -> GpuResult<()> {\n    launch()\n}",
        "rules": ["FT001"],
        "forms": ["early-return"],
    }
    policy_clause_publish(
        repository=branch.repository, clause_id="", parts=clause, reason="Agreed.", actor=person, based_on=0
    )
    policy_levels_publish(
        repository=branch.repository, levels={"FT014": "none"}, reason="Prose.", actor=person, based_on=1
    )
