from __future__ import annotations

import dataclasses

from audit.imports.placing import Code, KnownResult, PlacedBy, Said, Span, place_row
from audit.imports.rows import Place, Row

TEXT = "fn relu() {}\nfn gpu_add_f64() {}\n"
CODE = Code(
    files={"mini-gpu/src/ops.rs": 100, "mini-core/src/ops.rs": 50, "mini-core/src/lib.rs": 9},
    crates={"mini-gpu": "mini-gpu", "mini-core": "mini-core"},
    results=[
        KnownResult(1, "FT001", "mini-gpu/src/ops.rs", 10, 14, "mini_gpu::ops::relu", "mini-gpu",
                    (("mini-gpu/src/ops.rs", 18, 18),)),
        KnownResult(2, "FT008", "mini-gpu/src/ops.rs", 40, 41, "mini_gpu::ops::gpu_add_f64", "mini-gpu"),
        KnownResult(3, "FT010", "mini-gpu/src/ops.rs", 60, 61, "mini_gpu::ops::tests::t", "mini-gpu"),
    ],
    functions=lambda path: [Span("relu", 5, 20), Span("gpu_add_f64", 30, 50)] if "gpu" in path else [],
    text=lambda path: TEXT,
)  # fmt: skip
ROW = Row(line=1, title="falls back", crate="mini-gpu", rule_ids=("FT001",))


def placed(**fields: object) -> tuple[Said, dict[int, PlacedBy]]:
    found = place_row(dataclasses.replace(ROW, **fields), CODE)  # type: ignore[arg-type]
    return found.said, dict(found.sites)


def test_a_place_means_what_is_reported_on_its_lines_then_its_evidence_then_its_function() -> None:
    assert placed(places=(Place("ops.rs", 12, 12),)) == (Said.MATCHED, {1: PlacedBy.LINE})
    assert placed(places=(Place("ops.rs", 18, 18),)) == (Said.MATCHED, {1: PlacedBy.EVIDENCE})
    assert placed(places=(Place("ops.rs", 6, 6),)) == (Said.MATCHED, {1: PlacedBy.FUNCTION})


def test_people_call_every_fallback_by_the_same_words() -> None:
    assert placed(places=(Place("ops.rs", 40, 40),)) == (Said.MATCHED, {2: PlacedBy.LINE})
    assert placed(places=(Place("ops.rs", 60, 60),))[0] is Said.UNMATCHED


def test_names_find_what_has_no_lines_and_no_path() -> None:
    assert placed(places=(Place("ops.rs"),), names=("relu",)) == (Said.MATCHED, {1: PlacedBy.NAME})
    assert placed(places=(), names=("*_f64",)) == (Said.MATCHED, {2: PlacedBy.NAME})
    assert placed(places=(), names=("new",))[0] is Said.NO_PLACE


def test_the_code_contradicts_files_lines_and_names_that_it_does_not_have() -> None:
    for place in (Place("nothing.rs", 1, 1), Place("ops.rs", 101, 101)):
        assert placed(places=(place,))[0] is Said.CONTRADICTED, place
    assert placed(places=(Place("ops.rs", 12, 12),), names=("gpu_gone_f32",))[0] is Said.CONTRADICTED
    assert placed(places=(Place("ops.rs", 12, 12),), names=("gpu_gone_f32", "relu"))[0] is Said.MATCHED


def test_a_file_that_may_be_one_of_two_is_not_guessed() -> None:
    said, sites = placed(crate="", places=(Place("ops.rs", 12, 12),))
    assert (said, sites) == (Said.UNMATCHED, {})


def test_another_subject_is_matched_with_nothing_even_on_the_lines_of_a_site() -> None:
    assert placed(rule_ids=(), places=(Place("ops.rs", 12, 12),)) == (Said.OTHER_SUBJECT, {})
    assert placed(rule_ids=(), places=(Place("nothing.rs", 1, 1),))[0] is Said.CONTRADICTED


def test_one_place_that_is_found_is_enough() -> None:
    places = (Place("nothing.rs", 1, 1), Place("ops.rs", 12, 12))
    assert placed(places=places) == (Said.MATCHED, {1: PlacedBy.LINE})


def test_what_is_not_rust_is_not_contradicted() -> None:
    assert placed(places=(Place("Cargo.toml", 18, 18),))[0] is Said.UNMATCHED
