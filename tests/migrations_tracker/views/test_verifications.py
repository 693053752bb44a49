"""The pages of verifications say what was seen, in words, and let people ask, approve and cancel."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from audit.models import Commit, Repository, RowState
from migrations_tracker.roles import Role
from tests.factories import (
    PASSWORD,
    ingest,
    make_member,
    make_report,
    make_repository,
    make_result,
    make_user,
)
from tests.git import commit_files
from tests.workers.machines import make_job, make_outcome, make_runner, make_test, signed
from tests.workers.workspace import make_workspace
from workers.models import (
    PtxLoad,
    RequestTarget,
    Verification,
    VerificationJob,
    VerificationRequest,
    VerifiedFunction,
)
from workers.services import jobs
from workers.services.jobs import FunctionProof, job_continue, jobs_dispatch
from workers.services.outcomes import outcome_accept

pytestmark = pytest.mark.django_db
SYMBOL = "minitorch_gpu::ops::relu"


@pytest.fixture
def user(client: Client, monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> User:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    person = make_user()
    assert client.login(username=person.username, password=PASSWORD)
    return person


@pytest.fixture
def repository(user: User) -> Repository:
    made = make_repository()
    ingest(made, make_report([make_result(SYMBOL)]))
    return made


def verified(repository: Repository, *kernels: str, name: str = "passes") -> Verification:
    """Have a test of `relu` verified."""
    make_runner(f"rack-{VerificationJob.objects.count()}")
    job = make_job(
        repository,
        tests=[make_test(name)],
        functions={0: [FunctionProof(SYMBOL, "d" * 64, ("relu_kernel",))]},
    )
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    assert job.runner is not None
    raw = signed(make_outcome(job, *kernels), job.runner)
    outcome_accept(runner=job.runner, job_id=job.pk, raw=raw, after=lambda job, found: None)
    return Verification.objects.get(job=job)


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_a_verification_says_its_verdict_in_words_and_draws_what_it_saw(
    client: Client, repository: Repository
) -> None:
    page = text(client, verified(repository, "relu_kernel").get_absolute_url())
    assert "on the device" in page and "operands stayed" in page
    assert '<rect class="bar lane-kernel"' in page and "<td><code>relu_kernel</code>" in page
    assert "passes" in page and "then what is it testing?" in page


def test_what_the_runner_said_otherwise_is_told(client: Client, repository: Repository) -> None:
    verification = verified(repository)
    Verification.objects.filter(pk=verification.pk).update(runner_verdict="on-device")
    page = text(client, verification.get_absolute_url())
    assert "The runner said <b>on the device</b>" in page and "computed <b>no kernel</b>" in page


def test_the_lists_of_tests_that_prove_nothing_and_that_pass_without_a_gpu(
    client: Client, repository: Repository
) -> None:
    verified(repository, "relu_kernel", name="proves")
    verified(repository, name="idles")
    assert text(client, "/verifications/").count("<tr>") == 3
    page = text(client, "/verifications/?shows=nothing-proved")
    assert ">idles<" in page and ">proves<" not in page
    Verification.objects.filter(test="proves").update(passes_without_gpu=False)
    page = text(client, "/verifications/?shows=without-gpu")
    assert ">idles<" in page and ">proves<" not in page


def test_only_the_last_word_of_a_test_is_listed(client: Client, repository: Repository) -> None:
    verified(repository, name="again")
    VerificationJob.objects.update(state=RowState.CANCELLED)
    newest = verified(repository, "relu_kernel", name="again")
    page = text(client, "/verifications/")
    assert page.count("<code>again</code>") == 1 and newest.get_absolute_url() in page


def test_a_sites_page_shows_its_proof_and_that_it_expired(client: Client, repository: Repository) -> None:
    site = repository.sites.get()
    assert "No GPU run has looked at this site." in text(client, site.get_absolute_url())
    verification = verified(repository, "relu_kernel")
    page = text(client, site.get_absolute_url())
    assert verification.get_absolute_url() in page and "verdict-good" in page
    VerifiedFunction.objects.update(expired_at=verification.created_at, expired_because="It changed.")
    page = text(client, site.get_absolute_url())
    assert "expired" in page and "It changed." in page


def test_a_broken_ptx_sites_page_shows_what_the_driver_said(client: Client, repository: Repository) -> None:
    ingest(
        repository, make_report([make_result("minitorch_gpu::RELU_PTX", rule_id="FT017")], rules=["FT017"])
    )
    site = repository.sites.get(rule_id="FT017")
    assert "No driver was asked to load this text." in text(client, site.get_absolute_url())
    job = make_job(repository)
    PtxLoad.objects.create(
        job=job,
        name=site.symbol,
        sha256="a" * 64,
        is_loaded=False,
        error="CUDA_ERROR_INVALID_PTX",
        log="line 3",
    )
    page = text(client, site.get_absolute_url())
    assert "the driver refuses it" in page and "always taken" in page and "line 3" in page


def test_a_person_asks_to_verify_a_site(client: Client, repository: Repository, user: User) -> None:
    site = repository.sites.get()
    asked = {"repository": repository.slug, "target": "site", "text": site.symbol, "site": site.pk}
    response = client.post("/verifications/ask/", asked)
    wish = VerificationRequest.objects.get()
    assert response.headers["Location"] == wish.get_absolute_url()
    assert (wish.target, wish.site, wish.requested_by) == (RequestTarget.SITE, site, user)
    assert "Waiting for a worker" in text(client, wish.get_absolute_url())


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "javascript:x", ""])
def test_a_wish_that_can_not_be_kept_leads_to_no_other_site(
    client: Client, repository: Repository, back: str
) -> None:
    asked = {"repository": repository.slug, "target": "crate", "text": " ", "back": back}
    response = client.post("/verifications/ask/", asked)
    assert response.headers["Location"] == repository.get_absolute_url()


def test_code_of_strangers_is_approved_by_who_may(client: Client, repository: Repository, user: User) -> None:
    job = make_job(repository, wants_approval=True)
    assert "Waits for approval" in text(client, job.get_absolute_url())
    act = f"{job.get_absolute_url()}act/"
    assert client.post(act, {"act": "approve"}).status_code == 403
    make_member(user, Role.LEAD)
    assert client.post(act, {"act": "approve"}).status_code == 302
    job.refresh_from_db()
    assert job.approved_by == user


def test_a_job_is_cancelled_by_who_asked_and_by_no_other(
    client: Client, repository: Repository, user: User
) -> None:
    job = make_job(repository)
    act = f"{job.get_absolute_url()}act/"
    assert client.post(act, {"act": "cancel"}).status_code == 403
    VerificationJob.objects.filter(pk=job.pk).update(requested_by=user)
    assert client.post(act, {"act": "cancel"}).status_code == 302
    job.refresh_from_db()
    assert (job.state, job.cancelled_by) == (RowState.CANCELLED, user)


@pytest.mark.parametrize("address", ["/runners/", "/verifications/", "/verifications/?shows=without-gpu"])
def test_a_page_without_anything_says_what_to_do(client: Client, user: User, address: str) -> None:
    assert "empty" in text(client, address)


def test_a_wish_lists_the_tests_with_how_they_get_there(client: Client, repository: Repository) -> None:
    commit = Commit.objects.earliest("id")
    test = {
        "name": "runs",
        "path": "a.rs",
        "line": 3,
        "chain": ["a::relu_runs", SYMBOL],
        "opens_device": True,
    }
    wish = VerificationRequest.objects.create(
        repository=repository,
        commit=commit,
        target=RequestTarget.FUNCTION,
        text=SYMBOL,
        state=RowState.SUCCEEDED,
        finished_at=commit.scan_runs.get().finished_at,
        tests=[test],
    )
    page = text(client, wish.get_absolute_url())
    assert ">runs<" in page and "(1)" in page


def test_the_list_takes_few_queries_however_long_it_is(
    client: Client, repository: Repository, django_assert_max_num_queries: object
) -> None:
    for name in ("a", "b", "c"):
        verified(repository, "relu_kernel", name=name)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        client.get("/verifications/")
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        client.get("/runners/")
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        client.get(Verification.objects.latest("id").get_absolute_url())
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        client.get(VerificationJob.objects.latest("id").get_absolute_url())


PAGES = ("/runners/", "/runners/rack-0/", "/verifications/", "VERIFICATION", "JOB")
ACTS = ("/runners/add/", "/runners/rack-0/act/", "/verifications/ask/", "JOBact/")


def place(address: str, verification: Verification) -> str:
    address = address.replace("VERIFICATION", verification.get_absolute_url())
    return address.replace("JOB", verification.job.get_absolute_url())


def test_nobody_sees_or_does_anything_without_signing_in(repository: Repository) -> None:
    verification = verified(repository, "relu_kernel")
    stranger = Client()
    for address in PAGES:
        response = stranger.get(place(address, verification))
        assert (response.status_code, "/login/" in response.headers["Location"]) == (302, True), address
    for address in ACTS:
        assert "/login/" in stranger.post(place(address, verification)).headers["Location"], address


def test_what_changes_something_is_asked_for_by_post_and_from_here(
    repository: Repository, user: User
) -> None:
    verification = verified(repository, "relu_kernel")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user)
    for address in ACTS:
        assert strict.post(place(address, verification)).status_code == 403, address
    user.is_superuser = True
    user.save()
    for address in ACTS:
        assert strict.get(place(address, verification)).status_code == 405, address


def test_no_page_carries_style_or_script_of_its_own(client: Client, repository: Repository) -> None:
    verification = verified(repository, "relu_kernel")
    for address in PAGES:
        page = text(client, place(address, verification))
        assert " style=" not in page and "<script>" not in page, address


def test_a_scans_page_says_how_long_its_commit_was_on_gpus(client: Client, repository: Repository) -> None:
    scan = repository.scan_runs.latest("id")
    assert "no test of the commit was run" in text(client, scan.get_absolute_url())
    verification = verified(repository, "relu_kernel")
    VerificationJob.objects.filter(pk=verification.job_id).update(commit=scan.commit, gpu_seconds=90)
    assert "1.5 minutes, 1 test of the commit in 1 job" in text(client, scan.get_absolute_url())


def test_a_job_that_was_cut_short_leads_to_the_job_of_the_rest_and_back(
    client: Client, repository: Repository
) -> None:
    job = make_job(repository, tests=[make_test("first"), make_test("second")])
    rest = job_continue(job=job, done=1)
    VerificationJob.objects.filter(pk=job.pk).update(
        state=RowState.SUCCEEDED,
        finished_at=Now(),
        outcome_state="cut-short",
        outcome_reason="over after 1 of 2 tests",
        gpu_granted_s=60,
    )
    page = text(client, job.get_absolute_url())
    assert "over after 1 of 2 tests" in page and f'href="{rest.get_absolute_url()}"' in page
    assert "at most 60 s" in page
    assert f'href="{job.get_absolute_url()}"' in text(client, rest.get_absolute_url())


def test_a_job_that_waits_for_time_says_which_limit_it_waits_for(
    client: Client,
    repository: Repository,
    settings: LazySettings,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    settings.GPU_MINUTES_PER_DAY, settings.GPU_MINUTES_PER_SCAN = 2, 1
    spent = make_job(repository, tests=[make_test("earlier")])
    VerificationJob.objects.filter(pk=spent.pk).update(
        state=RowState.SUCCEEDED, finished_at=Now(), gpu_seconds=70
    )
    job = make_job(repository)
    with django_assert_max_num_queries(12):
        page = text(client, job.get_absolute_url())
    assert "what those of one scan may have in 24 hours: 1 min on GPUs." in page
    VerificationJob.objects.filter(pk=spent.pk).update(gpu_seconds=130)
    settings.GPU_MINUTES_PER_SCAN = 0
    assert "The 2 GPU minutes of 24 hours are taken." in text(client, job.get_absolute_url())


def test_what_changed_since_a_revision_is_asked_for_on_the_page(
    client: Client, tmp_path: Path, user: User
) -> None:
    made, commit = make_workspace(tmp_path)
    later = commit_files(Path(made.location), {"README.md": "More."})
    sent = {"repository": made.slug, "target": "change", "text": "HEAD~1", "revision": "main"}
    assert client.post("/verifications/ask/", sent).status_code == 302
    wish = VerificationRequest.objects.get()
    assert (wish.text, wish.commit.object_id) == (commit.object_id, later)
    client.post("/verifications/ask/", {**sent, "text": ""})
    client.post("/verifications/ask/", {**sent, "text": "--output=/tmp/x"})
    assert VerificationRequest.objects.count() == 1
