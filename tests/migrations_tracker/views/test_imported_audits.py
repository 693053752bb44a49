from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import FallbackSite, ImportedAudit, ImportedFinding, Repository, SiteState
from audit.services.imported_audits import audit_import
from migrations_tracker.knowledge_forms import packed, unpacked
from migrations_tracker.roles import Role
from tests.factories import make_member, make_user

DOCUMENT = b"| File | Line | Finding |\n|---|---|---|\n" + b"".join(
    b"| src/ops.rs | %d | GPU op %d falls back to the CPU <script>alert(1)</script> |\n" % (n, n)
    for n in range(1, 41)
)
ADD = reverse("imported-audit-add")


def fields(repository: Repository, **more: object) -> dict[str, object]:
    document = SimpleUploadedFile("old.md", DOCUMENT)
    commit = repository.commits.latest("pk").object_id
    return {"repository": repository.slug, "document": document, "commit": commit, **more}


@pytest.fixture
def audit(site: FallbackSite, repository: Repository) -> ImportedAudit:
    commit = repository.commits.latest("pk").object_id
    imported = audit_import(
        repository=repository, data=DOCUMENT, file_name="old.md", commit=commit, actor=make_user("mo")
    )
    return imported.audits[0]


def test_a_preview_shows_what_importing_would_do_and_keeps_nothing(
    root_client: Client, site: FallbackSite, repository: Repository
) -> None:
    response = root_client.post(ADD, fields(repository, action="preview"))
    assert response.status_code == 200
    text = response.content.decode()
    assert "40 new findings" in text
    assert "<script>alert" not in text
    assert not ImportedAudit.objects.exists()
    carried = {"repository": repository.slug, "commit": repository.commits.latest("pk").object_id}
    carried |= {"packed": packed(DOCUMENT), "file_name": "old.md", "action": "import"}
    assert root_client.post(ADD, carried).status_code == 302
    assert ImportedFinding.objects.count() == 40


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [(b"{\n x}", "a.json", "Line 2"), (b"", "a.md", "Choose a document"), (b"x", "a.exe", "tells no format")],
)
def test_a_bad_document_is_refused_with_the_reason(
    root_client: Client, site: FallbackSite, repository: Repository, data: bytes, name: str, message: str
) -> None:
    given = fields(repository, action="import", document=SimpleUploadedFile(name, data))
    response = root_client.post(ADD, given)
    assert response.status_code == 422
    assert message in response.content.decode()


def test_what_a_form_carries_is_only_what_was_packed() -> None:
    assert unpacked(packed(DOCUMENT)) == DOCUMENT
    assert unpacked("not base64!") == unpacked("aGVsbG8=") == b""
    assert unpacked(packed(b"0" * 6_000_000)) == b""


def test_an_audit_is_narrowed_by_the_url_and_paged(root_client: Client, audit: ImportedAudit) -> None:
    address = audit.get_absolute_url()
    first = root_client.get(address)
    assert first.content.decode().count("/findings/") == 30
    page = first.context["data"].page.next
    assert root_client.get(address, {"page": page}).content.decode().count("/findings/") == 10
    for query, count in (
        ({"standing": "matched"}, 4),
        ({"today": "open"}, 4),
        ({"today": "gone"}, 0),
        ({"judgement": "none", "q": "op 13"}, 1),
        ({"standing": "nonsense", "page": "null"}, 40),
    ):
        assert root_client.get(address, query).context["data"].total == count, query


def test_each_number_of_an_audit_is_that_of_the_list_narrowed_so(
    root_client: Client, audit: ImportedAudit
) -> None:
    ImportedFinding.objects.filter(pk__in=ImportedFinding.objects.order_by("pk").values("pk")[:7]).update(
        judgement="upheld", judgement_reason="Read.", judged_by=make_user("ruth"), judged_at=timezone.now()
    )
    SiteState.objects.filter(site__in=FallbackSite.objects.order_by("pk").values("pk")[:1]).update(
        is_open=False, baseline_state="absent", closed_scan=F("last_seen_scan")
    )
    address = audit.get_absolute_url()
    data = root_client.get(address).context["data"]
    for value, _, count in data.standings:
        assert root_client.get(address, {"standing": value}).context["data"].total == count, value
    for value, _, count in data.judgements:
        assert root_client.get(address, {"judgement": value}).context["data"].total == count, value
    counts = {"open": data.open_total, "gone": data.gone_total}
    for value, count in counts.items():
        narrowed = root_client.get(address, {"today": value}).context["data"]
        assert (narrowed.total, len(narrowed.page.rows)) == (count, count)
        assert {"open": narrowed.open_total, "gone": narrowed.gone_total} == counts
    assert sum(count for _, _, count in data.judgements) == data.total == 40


def test_a_finding_is_judged_and_linked_by_those_who_may(
    root_client: Client, ada_client: Client, audit: ImportedAudit, site: FallbackSite
) -> None:
    finding = audit.findings.latest("position")
    judge = reverse("imported-finding-judge", args=[finding.pk])
    assert ada_client.post(judge, {"judgement": "upheld", "reason": "x"}).status_code == 403
    assert root_client.post(judge, {"judgement": "upheld", "reason": " "}).status_code == 422
    assert root_client.post(judge, {"judgement": "upheld", "reason": "read it"}).status_code == 302
    assert "read it" in root_client.get(finding.get_absolute_url()).content.decode()
    link = reverse("imported-finding-link", args=[finding.pk])
    assert root_client.post(link, {"site": "99999999"}).status_code == 422
    assert root_client.post(link, {"site": site.pk}).status_code == 302
    assert finding.sites.get() == site


def test_a_permission_lets_one_import(ada_client: Client, site: FallbackSite, repository: Repository) -> None:
    assert ada_client.get(ADD).status_code == 403
    user = make_user("imp")
    make_member(user, Role.LEAD)
    client = Client()
    client.force_login(user)
    assert client.get(ADD).status_code == 200


def test_the_pages_take_few_queries(
    root_client: Client,
    audit: ImportedAudit,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    for address in (
        reverse("imported-audit-list"),
        audit.get_absolute_url(),
        audit.findings.earliest("position").get_absolute_url(),
    ):
        with django_assert_max_num_queries(12):
            assert root_client.get(address).status_code == 200, address
