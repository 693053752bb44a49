"""Searching: what is found, how it is narrowed, what a misspelt name finds, what strange text does."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.knowledge.links import LinkKind
from audit.models import (
    Crate,
    FallbackSite,
    KnowledgeEntry,
    NoteSubject,
    PrecedentKind,
    PullRequest,
    Repository,
)
from audit.parity.catalogue import newest
from audit.policy.clauses import load_policy
from audit.policy.forms import FORMS
from audit.rules import RULES
from audit.services.audit_notes import audit_note_add
from audit.services.knowledge_entries import entry_create, entry_save
from audit.services.precedents import precedent_record
from audit.services.repository_policies import policy_clause_publish
from migrations_tracker.models import SearchDocument
from migrations_tracker.search.documents import Source
from migrations_tracker.search.registry import SOURCES, SOURCES_BY_KIND
from migrations_tracker.search.words import indexed, tokens
from migrations_tracker.selectors.search import SearchFilters, search
from migrations_tracker.services.api_tokens import api_token_create
from migrations_tracker.services.search import search_refresh, search_reindex
from tests.factories import ingest, make_report, make_repository, make_result, make_user

# Each has a page, and is found under another kind, or is nothing that is looked up by words.
NOT_SEARCHED = {
    "TextReference": "found by the texts that name it",
    "ImportedAudit": "found by its findings",
    "Repository": "what the answers are narrowed to",
    "MatchRuling": "the operator is found",
    "OperationMatch": "the operator is found",
    "CapabilityGap": "the operator is found",
    "Attachment": "stands beside its comment",
    "HeldDrop": "a question of one moment",
    "ScanRequest": "a run of the machinery",
    "ScanRun": "a run of the machinery",
    "MigrationReport": "a run of the machinery",
    "Schedule": "a run of the machinery",
    "BulkChange": "a run of the machinery",
    "Delivery": "a run of the machinery",
    "Verification": "a run of the machinery",
    "MechanicalReport": "a run of the machinery",
    "VerificationJob": "a run of the machinery",
    "VerificationRequest": "a run of the machinery",
    "Runner": "one of few, in a list",
    "SavedFilter": "one of few, in a list",
    "Plan": "its units are found",
}


@pytest.fixture
def repository(db: None) -> Repository:
    return make_repository()


@pytest.fixture
def site(repository: Repository) -> FallbackSite:
    names = ("minitorch_gpu::kernels::gpu_layer_norm", "minitorch_gpu::kernels::gpu_scatter_add")
    ingest(repository, make_report([make_result(name, line=n * 10) for n, name in enumerate(names, 1)]))
    return FallbackSite.objects.earliest("pk")


def keys(question: str, **narrowed: str) -> list[str]:
    answer = search(filters=SearchFilters(question=question, **narrowed))  # type: ignore[arg-type]
    return [f"{hit.kind}:{hit.title if hit.kind == 'site' else hit.key}" for hit in answer.hits]


def test_every_source_is_registered_once() -> None:
    assert len(SOURCES_BY_KIND) == len(SOURCES)
    assert {type(source) for source in SOURCES} == set(Source.__subclasses__())


def test_everything_that_has_a_page_of_its_own_is_searched_or_says_why_not() -> None:
    with_pages = {model.__name__ for model in apps.get_models() if hasattr(model, "get_absolute_url")}
    searched = {source.model.__name__ for source in SOURCES if source.model is not None}
    assert with_pages - searched == {*NOT_SEARCHED} & with_pages
    assert not searched & NOT_SEARCHED.keys()


def test_everything_that_can_be_linked_to_is_searched() -> None:
    kinds = {"operator" if kind is LinkKind.OPERATOR else kind.value for kind in LinkKind}
    assert kinds <= SOURCES_BY_KIND.keys()


def test_all_that_is_shipped_is_in_the_index(db: None) -> None:
    search_refresh(kinds=["clause", "rule", "form", "operator"])
    shipped = {
        "clause": {clause.id for clause in load_policy().clauses},
        "rule": {rule.id for rule in RULES},
        "form": {form.key for form in FORMS},
        "operator": {f"aten::{base}" for base in newest().by_base},
    }
    for kind, wanted in shipped.items():
        assert set(SearchDocument.objects.filter(kind=kind).values_list("key", flat=True)) == wanted, kind


def test_a_crate_and_a_note_on_it_are_found(site: FallbackSite) -> None:
    note = audit_note_add(
        repository=site.repository,
        kind=NoteSubject.CRATE,
        subject="minitorch-gpu",
        revision=site.form_commit.object_id,  # type: ignore[union-attr]
        read_on=site.created_at.date(),
        paths=[site.path],
        text="Streams are never synchronised.",
        reader=make_user("ruth"),
    )
    search_refresh(kinds=["crate", "note"])
    assert keys("minitorch-gpu", kind="crate") == [f"crate:{Crate.objects.get(name='minitorch-gpu').pk}"]
    assert keys("synchronised streams") == [f"note:{note.pk}"]
    search_reindex()
    assert keys("synchronised streams", kind="note") == [f"note:{note.pk}"]


def test_a_repositorys_own_clause_and_its_pull_requests_are_found_by_who_sees_it(
    repository: Repository,
) -> None:
    policy_clause_publish(
        repository=repository,
        clause_id="",
        parts={
            "kind": "forbidden",
            "title": "No host body in the zygote solver",
            "text": "It has no host body, gated or not.",
            "reason": "No host memory is left.",
            "pytorch": "It has none either.",
        },
        reason="Agreed.",
        actor=make_user("ruth"),
        based_on=0,
    )
    pull = PullRequest.objects.create(
        repository=repository,
        number=12,
        title="Launch the zygote kernel",
        body="No read is left.",
        head_id="a" * 40,
        base_id="b" * 40,
        changed_at=timezone.now(),
    )
    search_refresh(kinds=["clause", "pull-request"])
    assert sorted(keys("zygote")) == ["clause:minitorch:P1", f"pull-request:{pull.pk}"]
    # Who does not see it is asked whether another word was meant: to them nobody wrote this one.
    answer = search(filters=SearchFilters(question="zygote", seen=(make_repository("other").pk,)))
    assert "zygote" in answer.corrections
    assert not {hit.repository for hit in answer.hits} - {""}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("gpu_layer_norm", ["gpu", "layer", "norm", "gpulayernorm"]),
        ("GpuLayerNorm", ["gpu", "layer", "norm", "gpulayernorm"]),
        ("HTTPError", ["http", "error", "httperror"]),
        ("conv2d", ["conv", "2", "d", "conv2d"]),
        ("sum", ["sum"]),
    ],
)
def test_a_name_is_indexed_by_its_parts_and_as_a_whole(name: str, parts: list[str]) -> None:
    assert list(tokens(name)) == parts
    assert indexed(name, "x") == " ".join([*parts, "x"])


def test_an_entry_is_found_once_it_is_published_and_never_as_a_draft(site: FallbackSite) -> None:
    mary = make_user("mary")
    entry = entry_create(actor=mary, title="Cholesky on the device")
    entry_save(entry=entry, actor=mary, title="Cholesky on the device", text="Potrf.", is_draft=True)
    search_refresh(kinds=["entry"])
    assert f"entry:{entry.pk}" not in keys("cholesky potrf")
    entry.refresh_from_db()
    entry_save(entry=entry, actor=mary, title="Cholesky on the device", text="Use potrf.", is_draft=False)
    search_refresh(kinds=["entry"])
    assert keys("cholesky potrf")[0] == f"entry:{entry.pk}"
    entry.refresh_from_db()
    entry_save(entry=entry, actor=mary, title="Cholesky on the device", text="Secret plan.", is_draft=True)
    search_refresh(kinds=["entry"])
    assert "Secret" not in "".join(SearchDocument.objects.values_list("text", flat=True))


def test_of_too_many_documents_with_a_word_those_named_so_are_ranked(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mary = make_user("mary")

    def published(title: str, text: str) -> KnowledgeEntry:
        entry = entry_create(actor=mary, title=title)
        entry_save(entry=entry, actor=mary, title=title, text=text, is_draft=False)
        return entry

    named = published("The flibber", "What it is.")
    for number in range(6):
        published(f"Note {number}", "It has a flibber.")
    search_refresh()
    assert len(keys("flibber")) == 7
    monkeypatch.setattr("migrations_tracker.selectors.search.MOST_LOOKED_AT", 3)
    found = keys("flibber")
    assert len(found) == 3
    assert found[0] == f"entry:{named.pk}"


def test_a_question_is_answered_from_the_beginning_of_a_table(site: FallbackSite) -> None:
    def joins_other_readers() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SHOW synchronize_seqscans")
            return bool(cursor.fetchone() == ("on",))

    assert joins_other_readers()
    search_refresh(kinds=["site"])
    assert keys("gpu_scatter_add", kind="site")
    # Of too many sites those are ranked that are come by first: others, where reading begins elsewhere.
    assert not joins_other_readers()


def test_a_ruling_is_found_by_its_reason(site: FallbackSite) -> None:
    ruling = precedent_record(
        site=site,
        kind=PrecedentKind.ACCEPTED,
        reason="Bootstrap weights are written before any launch.",
        clause_id="A3",
        actor=make_user("ruth"),
    )
    search_refresh(kinds=["precedent", "clause"])
    assert f"precedent:{ruling.pk}" in keys("bootstrap weights before launch")[:3]


def test_a_misspelt_name_finds_the_real_one_and_says_so(site: FallbackSite) -> None:
    search_refresh(kinds=["site", "rule"])
    answer = search(filters=SearchFilters(question="gpu_scater_ad"))
    assert "minitorch_gpu::kernels::gpu_scatter_add" in [hit.title for hit in answer.hits[:3]]
    assert answer.corrections


def test_facets_narrow_to_what_they_count(site: FallbackSite) -> None:
    search_refresh(kinds=["site", "rule", "clause"])
    answer = search(filters=SearchFilters(question="gpu kernel error"))
    counts = {kind: count for kind, _, count in answer.kinds}
    assert sum(counts.values()) == answer.total
    for kind, count in counts.items():
        narrowed = search(filters=SearchFilters(question="gpu kernel error", kind=kind))
        assert narrowed.total >= count
        assert {hit.kind for hit in narrowed.hits} == {kind}


def test_what_is_as_it_was_is_not_written_again(site: FallbackSite) -> None:
    assert search_refresh()
    assert not search_refresh()
    ingest(site.repository, make_report([make_result("minitorch_gpu::kernels::gpu_erfinv")]))
    assert search_refresh().keys() == {"site", "crate"}
    assert "site:minitorch_gpu::kernels::gpu_erfinv" in keys("erfinv", kind="site")


def test_an_index_built_anew_is_the_one_that_was_kept_up(site: FallbackSite) -> None:
    search_refresh()
    ingest(site.repository, make_report([make_result("minitorch_gpu::kernels::gpu_erfinv")]))
    search_refresh()
    kept = set(SearchDocument.objects.values_list("kind", "key", "title", "names", "words", "boost"))
    search_reindex()
    assert kept == set(SearchDocument.objects.values_list("kind", "key", "title", "names", "words", "boost"))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(question=st.text(max_size=120))
def test_no_question_is_an_error(db: None, question: str) -> None:
    search(filters=SearchFilters(question=" ".join(question.replace("\0", " ").split())))


def test_the_page_shows_marks_and_nothing_of_a_strangers_markup(root_client: Client) -> None:
    mary = make_user("mary")
    entry = entry_create(actor=mary, title="<script>alert(1)</script> potrf")
    entry_save(
        entry=entry, actor=mary, title="<script>alert(1)</script> potrf", text="<b>potrf</b>", is_draft=False
    )
    search_refresh(kinds=["entry"])
    text = root_client.get(reverse("search"), {"q": "potrf"}).content.decode()
    assert "<mark>potrf</mark>" in text
    assert "<script>alert" not in text
    assert "<b>potrf" not in text
    assert "Nothing found" in root_client.get(reverse("search"), {"q": "qqqqqqq"}).content.decode()


def test_the_results_alone_are_sent_to_htmx(root_client: Client, site: FallbackSite) -> None:
    search_refresh(kinds=["site"])
    headers = {"HX-Request": "true"}
    part = root_client.get(reverse("search"), {"q": "layer norm"}, headers=headers).content.decode()
    assert "<html" not in part
    assert "gpu_" in part


def test_a_program_asks_with_a_token_and_gets_addresses(site: FallbackSite) -> None:
    search_refresh(kinds=["clause", "rule", "form"])
    address = reverse("api-search")
    assert Client().get(address).status_code == 302
    _, text = api_token_create(owner=make_user("grace"), name="CI")
    client = Client(headers={"Authorization": f"Bearer {text}"})
    assert client.get(address).status_code == 400
    body = client.get(address, {"q": "may a small op run on the CPU?"}).json()
    assert "F3" in [hit["key"] for hit in body["hits"][:3]]
    assert body["hits"][0]["address"].startswith("http://testserver/")
    assert client.get(address, {"q": "gpu", "kind": "rule"}).json()["kinds"].keys() == {"rule"}


def test_the_command_line_answers_and_fails_when_it_knows_nothing(db: None) -> None:
    out = StringIO()
    call_command("search", "ptxas", "rejects", "my", "kernel", stdout=out)
    assert out.getvalue().startswith("1. rule FT017")
    out = StringIO()
    call_command("search", "lgamma", "--kind", "operator", "--format", "json", stdout=out)
    assert json.loads(out.getvalue())["hits"][0]["key"] == "aten::lgamma"
    with pytest.raises(CommandError):
        call_command("search", "qqqqqqqqq", stdout=StringIO())


def test_an_operator_without_a_project_says_what_pytorch_does(root_client: Client, ada: User) -> None:
    text = root_client.get(reverse("operator-anywhere", args=["aten::lgamma"])).content.decode()
    assert "lgamma" in text
    assert "CUDA" in text
    assert root_client.get(reverse("operator-anywhere", args=["aten::nothing"])).status_code == 404


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada")


@pytest.fixture
def root_client(db: None) -> Client:
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    return client
