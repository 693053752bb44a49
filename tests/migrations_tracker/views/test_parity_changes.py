"""What changed between two versions of PyTorch, as a page."""

from __future__ import annotations

import pytest
from django.test import Client

from audit.models import FallbackSite, ParityChange, ParityDump
from audit.services.parity import parity_dumps_import_shipped
from tests.factories import make_capability, store_capabilities

PAGE = "/parity/"


@pytest.fixture
def dumps(db: None) -> list[ParityDump]:
    return parity_dumps_import_shipped()


def test_without_dumps_the_page_says_what_to_do(ada_client: Client) -> None:
    assert b"parity_import" in ada_client.get(PAGE).content


def test_one_dump_is_shown_alone(ada_client: Client, dumps: list[ParityDump]) -> None:
    dumps[0].delete()
    text = ada_client.get(PAGE).content.decode()
    assert "2.11.0+cu130" in text
    assert "import a dump of another one" in text


def test_two_versions_are_compared_and_the_counts_add_up(ada_client: Client, dumps: list[ParityDump]) -> None:
    response = ada_client.get(PAGE)
    page = response.context["list"]
    assert (page.before, page.after) == (dumps[0], dumps[1])
    assert page.total == sum(count for _, _, count in page.subjects) == ParityChange.objects.count() > 100
    assert len(page.page.rows) == 50
    assert "nothing was tried on a GPU" in response.content.decode()
    assert "what they raise is not compared" in response.content.decode()


def test_the_order_of_the_two_is_no_matter(ada_client: Client, dumps: list[ParityDump]) -> None:
    totals = {
        ada_client.get(PAGE, {"before": one.pk, "after": two.pk}).context["list"].total
        for one, two in (dumps, dumps[::-1])
    }
    assert len(totals) == 1


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=aten::bilinear+cuda+forward", ["nn.functional.bilinear"]),
        ("subject=operator&q=vdot", ["vdot"]),
        ("subject=refusal", []),
    ],
)
def test_the_list_is_narrowed(
    ada_client: Client, dumps: list[ParityDump], query: str, names: list[str]
) -> None:
    rows = ada_client.get(f"{PAGE}?{query}").context["list"].page.rows
    assert [row.name for row in rows][: len(names)] == names
    assert bool(rows) == bool(names)


def test_rubbish_in_the_address_is_answered(ada_client: Client, dumps: list[ParityDump]) -> None:
    for value in ("zzz", "\0", "<script>alert(1)</script>", "-1", "9" * 40, "²"):
        for name in ("before", "after", "subject", "q", "page"):
            response = ada_client.get(PAGE, {name: value})
            assert response.status_code == 200
            assert b"<script>alert" not in response.content


def test_an_operator_is_shown_as_each_version_has_it(
    ada_client: Client, dumps: list[ParityDump], site: FallbackSite
) -> None:
    store_capabilities(site.first_seen_scan, [make_capability("aten::bilinear")])
    address = f"/operators/{site.repository.slug}/aten::bilinear/"
    newer = ada_client.get(address).content.decode()
    older = ada_client.get(f"{address}?dump={dumps[0].pk}").content.decode()
    assert "torch 2.11.0+cu130 on NVIDIA" in newer
    assert "torch 2.9.1+cu128, taken" in older
    assert newer.count("bfloat16") > older.count("bfloat16")
