"""Pull requests: what is told of them is kept, checked and held against what they say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from audit.errors import AuditError
from audit.models import (
    FallbackSite,
    PullRequest,
    PullRequestCheck,
    PullRequestSite,
    Repository,
    RowState,
    ScanRun,
)
from audit.selectors.claims import claims_of, description_claims_of
from audit.services.leases import lease_claim
from audit.services.pull_requests import (
    PullRequestText,
    pull_request_check_execute,
    pull_request_tell,
)
from audit.services.repositories import repository_add
from migrations_tracker.services.follow_up import scan_run_follow_up
from migrations_tracker.services.pull_requests import pull_request_of_event
from tests.audit.services.test_branch_history import LIB, MANIFEST, REFUSING, SILENT, code, git
from tests.factories import make_repository, make_user
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
BODY = """What this does:
- No silent fallback in `gpu_relu` any more.
- `gpu_gelu` runs fully on the GPU.

<!-- `gpu_tanh` runs fully on the GPU. -->
"""


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.REPOSITORIES_DIR = tmp_path / "clones"


class Trees:
    """A history whose topic branch refuses in one function, and brings a fallback; main moved on since."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "minitorch"
        files = {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: code(relu=SILENT, gelu=SILENT)}
        self.start = commit_files(self.tree, files)
        git(self.tree, "checkout", "--quiet", "-b", "topic")
        self.head = commit_files(self.tree, {LIB: code(relu=REFUSING, gelu=SILENT, silu=SILENT)})
        git(self.tree, "checkout", "--quiet", "main")
        self.base = commit_files(self.tree, {"minitorch-gpu/src/other.rs": code(tanh=SILENT)})


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


def told(trees: Trees, **columns: object) -> PullRequestText:
    known: dict[str, object] = {
        "number": 7,
        "head_id": trees.head,
        "base_id": trees.base,
        "title": "Refuse in relu",
        "body": BODY,
        "changed_at": NOW,
    }
    return PullRequestText(**(known | columns))  # type: ignore[arg-type]


def checked(repository: Repository, text: PullRequestText) -> PullRequestCheck:
    check = pull_request_tell(repository=repository, told=text)
    assert check is not None
    assert pull_request_check_execute(pk=check.pk, after_ingest=scan_run_follow_up)
    check.refresh_from_db()
    return check


def changes(check: PullRequestCheck) -> dict[str, str]:
    rows = PullRequestSite.objects.filter(check_row=check, site__rule_id="FT001").select_related("site")
    return {one.site.symbol.rpartition("::")[2]: "new" if one.is_new else one.outcome for one in rows}


def test_head_is_compared_with_where_it_left_its_base(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    check = checked(repository, told(trees))
    assert check.head_scan is not None
    assert check.start_scan is not None
    assert check.head_scan.commit.object_id == trees.head
    # What main got since is nothing that the pull request takes away.
    assert check.start_scan.commit.object_id == trees.start
    assert changes(check) == {"gpu_relu": "structured-error", "gpu_silu": "new"}


def test_what_a_comment_in_the_source_allows_is_not_brought(tmp_path: Path) -> None:
    tree = tmp_path / "minitorch"
    base = commit_files(tree, {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: code(relu=SILENT)})
    read = "let host = gpu_to_cpu(x, device)?;"
    allowed = f"{read} // ferroaudit: allow(silent-fallback) measured: too small for a launch"
    both = code(relu=SILENT, gelu=SILENT.replace(read, allowed), silu=SILENT)
    head = commit_files(tree, {LIB: both})
    repository = repository_add(location=str(tree), actor=None)
    text = PullRequestText(number=7, head_id=head, base_id=base, title="", body="", changed_at=NOW)
    assert changes(checked(repository, text)) == {"gpu_silu": "new"}


def test_what_stood_in_a_file_that_did_not_parse_is_not_brought_by_who_mends_it(tmp_path: Path) -> None:
    tree, torn = tmp_path / "minitorch", "minitorch-gpu/src/torn.rs"
    whole = code(relu=SILENT)
    files = {"minitorch-gpu/Cargo.toml": MANIFEST, LIB: "pub mod torn;\n"}
    base = commit_files(tree, {**files, torn: "pub fn torn( {{{ <<<<<<< HEAD\n" + whole})
    head = commit_files(tree, {torn: whole, "minitorch-gpu/src/fresh.rs": code(silu=SILENT)})
    repository = repository_add(location=str(tree), actor=None)
    text = PullRequestText(number=7, head_id=head, base_id=base, title="", body="", changed_at=NOW)
    assert changes(checked(repository, text)) == {"gpu_silu": "new"}


def test_what_it_says_is_held_against_the_change_and_listed_with_its_commit(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    check = checked(repository, told(trees))
    views = description_claims_of(check=check)
    assert {one.held.claim.names[0]: one.held.bearing.value for one in views} == {
        "gpu_relu": "borne-out",
        "gpu_gelu": "not-borne-out",
    }
    assert {one.source for one in views} == {"pull request #7, description"}
    assert [one.held.claim.line for one in views] == [2, 3]
    assert check.head_scan is not None
    address = check.pull_request.get_absolute_url()
    assert [one.url for one in claims_of(scan_run=check.head_scan)] == [address] * 2
    assert check.start_scan is not None
    assert claims_of(scan_run=check.start_scan) == []


def test_what_several_of_one_head_say_is_held_apart_and_read_together(
    trees: Trees, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    bodies = (
        BODY,
        "`gpu_silu` runs fully on the GPU.",
        "Nothing is claimed.",
        "Implemented `gpu_gelu` on GPU.",
    )
    checks = [
        checked(repository, told(trees, number=number, body=body)) for number, body in enumerate(bodies, 7)
    ]
    head = checks[0].head_scan
    assert head is not None
    # The pull requests, what each brings and ends, what stands at the head, and what the commit claims.
    with django_assert_num_queries(4):
        together = claims_of(scan_run=head)
    assert together == [view for check in checks for view in description_claims_of(check=check)]
    assert {one.url for one in together} == {
        check.pull_request.get_absolute_url() for check in checks if check != checks[2]
    }


def test_an_edited_text_is_held_anew_without_another_scan(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    first = checked(repository, told(trees))
    body = "`gpu_silu` runs fully on the GPU."
    again = pull_request_tell(
        repository=repository, told=told(trees, body=body, changed_at=NOW + timedelta(hours=1))
    )
    assert again == first
    assert again.state == RowState.SUCCEEDED
    assert [one.held.claim.names[0] for one in description_claims_of(check=again)] == ["gpu_silu"]
    texts = PullRequest.objects.get().events.order_by("pgh_id").values_list("body", flat=True)  # type: ignore[attr-defined]
    assert list(texts) == [BODY, body]
    assert ScanRun.objects.count() == 2


def test_what_was_sent_before_and_comes_later_changes_nothing(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    pull_request_tell(repository=repository, told=told(trees, title="Newer"))
    late = told(trees, title="Older", changed_at=NOW - timedelta(seconds=1))
    assert pull_request_tell(repository=repository, told=late) is None
    assert PullRequest.objects.get().title == "Newer"


def test_a_new_head_is_another_check_and_the_site_shows_the_newest(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    first = checked(repository, told(trees))
    git(trees.tree, "checkout", "--quiet", "topic")
    head = commit_files(trees.tree, {LIB: code(relu=REFUSING, gelu=SILENT)})
    second = checked(repository, told(trees, head_id=head, changed_at=NOW + timedelta(hours=1)))
    assert second != first
    assert changes(second) == {"gpu_relu": "structured-error"}
    silu = FallbackSite.objects.get(rule_id="FT001", symbol__endswith="gpu_silu")
    relu = FallbackSite.objects.get(rule_id="FT001", symbol__endswith="gpu_relu")
    client = Client()
    client.force_login(make_user())
    link = second.pull_request.get_absolute_url()
    assert link in client.get(reverse("site-timeline", args=[relu.pk])).content.decode()
    assert link not in client.get(reverse("site-timeline", args=[silu.pk])).content.decode()
    page = client.get(link).content.decode()
    assert relu.get_absolute_url() in page
    assert "structured-error" in page
    assert "The scan does not bear it out" in page


def test_a_head_that_is_nowhere_is_told_as_such_and_checked_when_it_came(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    check = pull_request_tell(repository=repository, told=told(trees, head_id="a" * 40))
    assert check is not None
    assert not pull_request_check_execute(pk=check.pk, after_ingest=scan_run_follow_up)
    check.refresh_from_db()
    assert check.state == RowState.FAILED
    assert "no revision" in check.failure_reason
    again = pull_request_tell(repository=repository, told=told(trees, head_id="a" * 40))
    assert again is not None
    assert (again.pk, again.state, again.attempts) == (check.pk, RowState.PENDING, 0)


def test_the_head_of_a_fork_is_fetched_by_the_number_of_its_pull_request(tmp_path: Path) -> None:
    trees = Trees(tmp_path)
    git(trees.tree, "update-ref", "refs/pull/7/head", trees.head)
    git(trees.tree, "branch", "--quiet", "-D", "topic")
    repository = repository_add(location=trees.tree.as_uri(), actor=None)
    assert changes(checked(repository, told(trees))) == {"gpu_relu": "structured-error", "gpu_silu": "new"}


def test_while_another_worker_runs_a_scan_the_check_waits_and_spends_no_attempt(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    check = pull_request_tell(repository=repository, told=told(trees))
    assert check is not None
    failed = told(trees, number=8)
    first = checked(repository, failed)
    assert first.head_scan is not None
    ScanRun.objects.filter(pk=first.head_scan.pk).update(state=RowState.PENDING, finished_at=None, attempts=0)
    assert lease_claim(model=ScanRun, pk=first.head_scan.pk) is not None
    for _ in range(5):
        assert not pull_request_check_execute(pk=check.pk, after_ingest=scan_run_follow_up)
        check.refresh_from_db()
        assert (check.state, check.attempts) == (RowState.PENDING, 0)


@pytest.mark.parametrize(
    "columns",
    [{"head_id": "main"}, {"base_id": "--upload-pack=x"}, {"head_id": "A" * 40}, {"number": 0}],
)
def test_what_names_no_commits_is_refused(trees: Trees, columns: dict[str, object]) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    with pytest.raises(AuditError):
        pull_request_tell(repository=repository, told=told(trees, **columns))
    assert not PullRequest.objects.exists()


def test_an_address_that_is_none_is_no_link(trees: Trees) -> None:
    repository = repository_add(location=str(trees.tree), actor=None)
    pull_request_tell(repository=repository, told=told(trees, url="javascript:alert(1)"))
    assert PullRequest.objects.get().url == ""


def event(**columns: object) -> dict[str, object]:
    row: dict[str, object] = {
        "number": 7,
        "title": "Refuse in relu",
        "body": None,
        "state": "open",
        "updated_at": "2026-06-01T12:00:00Z",
        "html_url": "https://example.org/pull/7",
        "head": {"sha": "a" * 40, "ref": "topic"},
        "base": {"sha": "b" * 40, "ref": "main"},
    }
    return {"action": "opened", "pull_request": row | columns}


def test_an_event_is_read_as_git_servers_send_it() -> None:
    assert pull_request_of_event(event()) == PullRequestText(
        7, "a" * 40, "b" * 40, "Refuse in relu", "", NOW, "topic", "main", "https://example.org/pull/7"
    )
    assert not pull_request_of_event(event(state="closed")).is_open


@pytest.mark.parametrize(
    "rubbish",
    [{}, {"pull_request": []}, event(number="7"), event(title=7), event(head=None), event(number=True)],
)
def test_an_event_that_is_none_is_refused(rubbish: dict[str, object]) -> None:
    with pytest.raises(AuditError):
        pull_request_of_event(rubbish)


def test_pages_say_what_to_do_where_there_is_nothing(client: Client) -> None:
    repository = make_repository()
    client.force_login(make_user())
    address = reverse("pull-request-list", args=[repository.slug])
    assert b"No open pull request was told of" in client.get(address).content
    assert b"No pull request was closed yet" in client.get(address, {"state": "closed"}).content
