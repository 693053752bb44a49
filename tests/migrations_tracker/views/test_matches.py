"""The pages of operations and their matches, and who may correct one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import FallbackSite, MatchRuling, OperationMatch
from audit.parity.catalogue import newest
from audit.parity.matching import Match, Matcher, Verdict
from audit.parity.operations import Operation, OperationKind
from audit.services.matches import matches_store
from migrations_tracker.roles import Role
from migrations_tracker.services import matches as service
from tests.factories import make_capability, make_member, make_user, store_capabilities

LIST = "/matches/"


def found(name: str, kind: OperationKind = OperationKind.KERNEL, crate: str = "ferrotorch-gpu") -> Match:
    operation = Operation(name, kind, f"{crate.replace('-', '_')}::kernels", crate, "src/kernels.rs", 7)
    return Matcher(newest()).match(operation)


@pytest.fixture
def operations(site: FallbackSite, monkeypatch: pytest.MonkeyPatch) -> dict[str, OperationMatch]:
    monkeypatch.setattr(service, "_send", lambda _: None)
    matches = [
        found("gpu_exp"),
        found("gpu_reduce_max"),
        found("gpu_wibble"),
        found("sgd_wobble", OperationKind.FUNCTION, "ferrotorch-core"),
    ]
    matches_store(scan_run=site.first_seen_scan, matches=matches)
    return {row.symbol.rpartition("::")[2]: row for row in OperationMatch.objects.all()}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["sgd_wobble", "gpu_wibble"]),
        ("verdict=", ["sgd_wobble", "gpu_wibble", "gpu_reduce_max", "gpu_exp"]),
        ("verdict=matched", ["gpu_reduce_max", "gpu_exp"]),
        ("kind=function", ["sgd_wobble"]),
        ("verdict=&crate=ferrotorch-gpu&q=aten::exp", ["gpu_exp"]),
        ("verdict=&ruled=1", []),
        ("verdict=no&kind=no&page=no", ["sgd_wobble", "gpu_wibble", "gpu_reduce_max", "gpu_exp"]),
    ],
)
def test_the_list_shows_what_the_url_asks_for_the_least_sure_first(
    ada_client: Client, operations: dict[str, OperationMatch], query: str, names: list[str]
) -> None:
    response = ada_client.get(f"{LIST}?{query}")
    rows = response.context["list"].page.rows
    assert [row.symbol.rpartition("::")[2] for row in rows] == names
    assert response.context["list"].total == len(names)


def test_the_counts_add_up(ada_client: Client, operations: dict[str, OperationMatch]) -> None:
    page = ada_client.get(LIST).context["list"]
    assert {verdict: count for verdict, count, _ in page.verdicts} == {
        "matched": 2,
        "no-counterpart": 0,
        "infrastructure": 0,
        "unmatched": 2,
    }
    assert sum(count for _, count, _ in page.verdicts) == page.operation_total == 4
    assert (page.gpu_matched, page.gpu_total, page.gpu_percent) == (2, 3, "66.6 %")


def test_an_operation_shows_the_machine_s_match_with_how_sure_it_is(
    ada_client: Client, operations: dict[str, OperationMatch]
) -> None:
    match = operations["gpu_reduce_max"]
    text = ada_client.get(match.get_absolute_url()).content.decode()
    assert f"{match.confidence} % sure" in text
    assert "aten::amax" in text
    assert "takes the right to add match rulings" in text
    assert '<form method="post" action="/matches/' not in text


def test_only_who_has_the_right_may_rule(
    ada_client: Client, ada: User, operations: dict[str, OperationMatch]
) -> None:
    address = operations["gpu_wibble"].get_absolute_url()
    data = {"verdict": "matched", "counterpart": "aten::erf", "direction": "forward", "reason": "same sum"}
    assert ada_client.post(f"{address}ruling/", data).status_code == 403
    assert ada_client.post(f"{address}ruling/end/").status_code == 403
    make_member(ada, Role.LEAD)
    assert ada_client.post(f"{address}ruling/", data).status_code == 302
    ruling = MatchRuling.objects.get()
    assert (ruling.counterpart, ruling.decided_by, ruling.reason) == ("aten::erf", ada, "same sum")
    text = ada_client.get(f"{LIST}?verdict=&ruled=1").content.decode()
    assert "aten::<wbr>erf" in text
    page = ada_client.get(address).content.decode()
    assert "It outranks the rule." in page
    assert ada_client.post(f"{address}ruling/end/", {"seen": ruling.pk}).status_code == 302
    assert MatchRuling.objects.get().ended_by == ada


def test_a_ruling_ends_no_other_one_that_was_not_seen(
    ada_client: Client, ada: User, operations: dict[str, OperationMatch]
) -> None:
    make_member(ada, Role.LEAD)
    match = operations["gpu_wibble"]
    address = match.get_absolute_url()
    assert 'name="seen" value="0"' in ada_client.get(address).content.decode()
    theirs = service.match_rule(
        match=match, verdict=Verdict.INFRASTRUCTURE, reason="Set-up.", actor=make_user("lin")
    )
    mine = {"verdict": "matched", "counterpart": "aten::erf", "direction": "forward", "reason": "same sum"}
    refused = ada_client.post(f"{address}ruling/", {**mine, "seen": "0"})
    assert refused.status_code == 422
    assert "lin ruled on this operation meanwhile" in refused.content.decode()
    assert f'name="seen" value="{theirs.pk}"' in refused.content.decode()
    for given in ({}, {"seen": "0"}):
        ada_client.post(f"{address}ruling/end/", given)
    assert MatchRuling.objects.get(ended_at=None) == theirs
    assert ada_client.post(f"{address}ruling/", {**mine, "seen": theirs.pk}).status_code == 302
    assert MatchRuling.objects.get(ended_at=None).decided_by == ada


def test_a_ruling_that_is_wrong_says_why_and_keeps_what_was_written(
    root_client: Client, operations: dict[str, OperationMatch]
) -> None:
    address = f"{operations['gpu_wibble'].get_absolute_url()}ruling/"
    data = {"verdict": "matched", "counterpart": "aten::zap", "direction": "forward", "reason": "because"}
    response = root_client.post(address, data)
    text = response.content.decode()
    assert response.status_code == 422
    assert "has no <code>aten::zap</code>" in text
    assert 'value="aten::zap"' in text
    assert "because</textarea>" in text
    assert root_client.post(address, {**data, "verdict": "maybe"}).status_code == 422


def test_names_spelled_alike_are_suggested(
    root_client: Client, operations: dict[str, OperationMatch], site: FallbackSite
) -> None:
    store_capabilities(
        site.first_seen_scan, [make_capability("aten::exp", symbol=operations["gpu_exp"].symbol)]
    )
    page = root_client.get(operations["gpu_exp"].get_absolute_url())
    assert page.context["data"].cells[0].operator == "aten::exp"
    matches_store(scan_run=site.first_seen_scan, matches=[found("layer_nrom")])
    match = OperationMatch.objects.get(symbol__endswith="layer_nrom")
    assert match.verdict == Verdict.UNMATCHED
    assert "aten::layer_norm" in root_client.get(match.get_absolute_url()).context["data"].suggestions


def test_without_a_scan_the_page_says_what_to_do(ada_client: Client, db: None) -> None:
    assert b"An administrator can add one" in ada_client.get(LIST).content
