from __future__ import annotations

import pytest

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.bundling import bundle
from migrations_tracker.scheduling.catalogue import Hours, default_catalogue
from migrations_tracker.scheduling.estimating import Estimate, FinishedUnit, estimate, learn, remaining, ticks
from migrations_tracker.scheduling.items import OpenItem


def sites(count: int, rule: str, outcome: Outcome | None = None) -> list[OpenItem]:
    return [
        OpenItem(f"S{n:02d}", rule, "gpu", "gpu/src/a.rs", f"op{n}", outcome=outcome) for n in range(count)
    ]


def estimate_of(items: list[OpenItem], **given: object) -> Estimate:
    (unit,) = bundle(items).units
    return estimate(unit, {item.id: item for item in items}, **given)  # type: ignore[arg-type]


def test_an_estimate_is_the_sum_of_its_parts() -> None:
    found = estimate_of(sites(8, "host-readback"))
    assert found.hours.likely == pytest.approx(sum(part.hours.likely for part in found.parts))
    assert found.hours.low <= found.hours.likely <= found.hours.high


def test_repeating_a_mechanical_edit_gets_cheaper_and_a_redesign_does_not() -> None:
    rate = default_catalogue().rules["silent-fallback"].item.likely
    swept = estimate_of(sites(20, "silent-fallback")).parts[1].hours.likely
    assert 0.5 * 20 * rate < swept < 20 * rate
    rate = default_catalogue().rules["host-readback"].item.likely
    assert estimate_of(sites(8, "host-readback")).parts[1].hours.likely == pytest.approx(8 * rate)


def test_every_operator_without_a_kernel_adds_a_kernel() -> None:
    with_kernels = estimate_of(sites(6, "fake-gpu-function"))
    assert with_kernels.parts[-1].hours.likely == 6 * default_catalogue().kernel.likely
    assert "kernels" not in estimate_of(sites(6, "broken-ptx")).parts[-1].what


def finished(*ratios: float) -> list[FinishedUnit]:
    return [FinishedUnit(f"U{n}", ("silent-fallback",), 2.0, 2 * ratio) for n, ratio in enumerate(ratios)]


def test_one_unit_that_went_wrong_moves_the_rate_little_and_many_that_agree_move_it_far() -> None:
    one = learn(finished(10.0))["silent-fallback"]
    assert 1 < one.factor < 2
    many = learn(finished(*[2.0] * 12))["silent-fallback"]
    assert 1.7 < many.factor < 2
    assert len(many.points) == 12


def test_an_outlier_among_many_does_not_count() -> None:
    usual = [1.1, 1.2, 0.9, 1.0, 1.1, 1.3]
    without, with_outlier = learn(finished(*usual)), learn(finished(*usual, 400.0))
    assert with_outlier["silent-fallback"].factor == pytest.approx(
        without["silent-fallback"].factor, abs=0.06
    )


def test_a_learned_rate_changes_the_estimate_of_its_rule_only() -> None:
    corrections = learn(finished(*[2.0] * 12))
    items = sites(8, "silent-fallback")
    assert estimate_of(items, corrections=corrections).hours.likely > estimate_of(items).hours.likely
    other = sites(8, "host-readback")
    assert estimate_of(other, corrections=corrections) == estimate_of(other)


def test_what_remains_follows_the_rate_seen_so_far() -> None:
    whole = Hours(4, 8, 16)
    assert remaining(whole, 0, 0, 8).likely == 8
    assert remaining(whole, 4, 4, 8).likely == pytest.approx(4)
    slow = remaining(whole, 12, 4, 8)
    assert slow.likely > 4
    assert remaining(whole, 20, 8, 8) == Hours(0, 0, 0)


def test_what_remains_never_reaches_nothing_while_items_are_open() -> None:
    assert remaining(Hours(1, 2, 4), 50, 0, 8).likely > 0


def test_hours_become_whole_quarters() -> None:
    assert [ticks(hours) for hours in (0.0, 0.25, 0.26, 1.0)] == [1, 1, 2, 4]


def test_what_was_learned_does_not_change_the_base_that_finished_units_are_measured_by() -> None:
    plain = estimate_of(sites(8, "silent-fallback"))
    learned = estimate_of(sites(8, "silent-fallback"), corrections=learn(finished(*[3.0] * 10)))
    assert plain.base_likely == plain.hours.likely
    assert learned.hours.likely > plain.hours.likely
    assert learned.base_likely == pytest.approx(plain.base_likely)
