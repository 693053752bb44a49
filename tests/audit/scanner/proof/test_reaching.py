"""Which tests reach a function, what they can prove, and what a function is known by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

from audit.scanner.judge import Judgement
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.proof.reaching import Proofs, ReachingTest
from audit.scanner.source.memory import MemorySource
from tests.workers.workspace import FILES

T = TypeVar("T")


def ask(question: Callable[[Proofs], T], files: Mapping[str, str] = FILES) -> T:
    """Ask a question about a workspace."""
    answers: list[T] = []

    def observe(judgement: Judgement) -> None:
        answers.append(question(Proofs(judgement)))

    source = MemorySource({path: text.encode() for path, text in files.items()})
    scan(source, profile=load_profile(), rules=(), observe=observe)
    return answers[0]


def reaching(name: str, files: Mapping[str, str] = FILES) -> list[ReachingTest]:
    return ask(lambda proofs: proofs.tests_of(proofs.named(name)[0]), files)


def digest_of(name: str, files: Mapping[str, str] = FILES) -> str:
    return ask(lambda proofs: proofs.digest(proofs.named(name)[0]), files)


def edited(path: str, old: str, new: str) -> dict[str, str]:
    assert old in FILES[path]
    return {**FILES, path: FILES[path].replace(old, new)}


def test_every_test_that_reaches_a_function_is_listed_those_that_can_prove_something_first() -> None:
    found = reaching("gpu_relu")
    names = [test.name.rpartition("::")[2] for test in found]
    assert names == [
        "relu_matches_the_host",
        "relu_of_half_is_refused",
        "relu_of_much",
        "relu_without_a_device",
    ]
    assert [test.opens_device for test in found] == [True, True, True, False]
    assert [test.is_ignored for test in found] == [False, False, True, False]


def test_a_unit_test_is_named_as_its_harness_names_it() -> None:
    test = reaching("gpu_relu")[0]
    assert (test.crate, test.binary) == ("mini-gpu", "mini_gpu")
    assert test.name == "ops::tests::relu_matches_the_host"
    assert test.chain == ("mini_gpu::ops::tests::relu_matches_the_host", "mini_gpu::ops::gpu_relu")


def test_an_integration_test_is_in_the_binary_of_its_file() -> None:
    (test,) = reaching("gpu_exp")
    assert (test.binary, test.name) == ("exp", "exp_runs")


def test_what_reaches_a_helper_goes_by_its_caller() -> None:
    chain = reaching("helper")[0].chain
    assert [symbol.rpartition("::")[2] for symbol in chain] == ["relu_matches_the_host", "gpu_relu", "helper"]


def test_a_function_that_no_test_calls_is_reached_by_none() -> None:
    assert reaching("gpu_never_tested") == []


def test_what_a_test_asserts_is_read_from_its_source() -> None:
    compares, refuses = reaching("gpu_relu")[:2]
    assert (compares.compares_values, compares.asserts_structured_error) == (True, False)
    assert (refuses.asserts_structured_error, refuses.error) == (True, "Unsupported")


def test_the_kernels_of_a_function_are_those_that_it_compiles() -> None:
    launched = ask(lambda proofs: proofs.launched(proofs.named("gpu_relu")[0]))
    assert launched.kernels == ("relu_kernel",)


OPS_PATH = "mini-gpu/src/ops.rs"


@pytest.mark.parametrize(
    ("old", "new"),
    [("helper(device);", "helper(other);"), ("-> u32 { 1 }", "-> u32 { 2 }"), ("fn helper", "fn aide")],
)
def test_a_digest_changes_with_the_function_and_with_what_it_calls(old: str, new: str) -> None:
    assert digest_of("gpu_relu", edited(OPS_PATH, old, new)) != digest_of("gpu_relu")


@pytest.mark.parametrize(
    ("old", "new"),
    [("    helper(device);", "    // why\n\n      helper( device );"), ('"exp_kernel"', '"other_kernel"')],
)
def test_a_digest_stays_when_comments_spaces_or_other_functions_change(old: str, new: str) -> None:
    assert digest_of("gpu_relu", edited(OPS_PATH, old, new)) == digest_of("gpu_relu")


def test_what_a_test_runs_is_found_forwards_too() -> None:
    def reached(proofs: Proofs) -> set[str]:
        test = next(one for one in proofs.tests if one.name == "relu_matches_the_host")
        return {function.name for function in proofs.reached_by(test)}

    assert ask(reached) == {"gpu_relu"}
