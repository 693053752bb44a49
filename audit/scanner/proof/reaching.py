"""Which tests reach a function, which kernels it launches, and what it is known by until its code changes."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from audit.scanner.extract.facts import Call
from audit.scanner.fingerprint import tokens
from audit.scanner.judge import Judgement
from audit.scanner.link.closure import Closure
from audit.scanner.link.unit import Fn

_STRING = re.compile(r'"([A-Za-z_]\w*)"')
_LIBRARY = re.compile(r"^(cublas|cusolver|cufft|curand|cusparse|cudnn|nccl)")
_GEMM = re.compile(r"^(?:gemm\w*|sgemm|dgemm|matmul_ex)$")
_ASSERTS_ERROR = re.compile(r"\b(?:assert|matches!|unwrap_err|expect_err|is_err|Err\s*\()")
_COMPARES = re.compile(
    r"\bassert_eq!|\bassert_\w*(?:eq|near|approx)|\bassert\w*close|\ballclose\b|\.abs\(\)\s*<"
)


@dataclass(frozen=True, slots=True)
class ReachingTest:
    """A test that reaches a function: where cargo puts it, how it gets there, and what its source says.

    `chain` are the symbols from the test to the function. `is_dead` is a test that no feature compiles.
    """

    symbol: str
    crate: str
    binary: str
    name: str
    path: str
    line: int
    chain: tuple[str, ...]
    opens_device: bool
    is_ignored: bool
    is_dead: bool
    asserts_structured_error: bool
    compares_values: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class Launched:
    """What a function puts on the device: kernels by name, and libraries that launch their own."""

    kernels: tuple[str, ...]
    families: tuple[str, ...]


class Proofs:
    """Answers for the functions of one linked commit."""

    def __init__(self, judgement: Judgement) -> None:
        self._judgement = judgement
        self._reach = judgement.reach
        self._functions = judgement.workspace.functions
        self._bodies: dict[int, str] = {}
        self._closure = Closure(
            lambda index: [one.index for one in self._reach.callees(self._functions[index])],
            lambda index: frozenset((self._body(index),)),
        )
        self._launched = Closure(
            lambda index: [one.index for one in self._reach.callees(self._functions[index])],
            lambda index: frozenset(self._own_launches(self._functions[index])),
        )

    def named(self, symbol: str) -> list[Fn]:
        """Return the functions of a name: the whole symbol, or else what ends with it."""
        whole = [one for one in self._with_body if one.symbol == symbol]
        return whole or [one for one in self._with_body if one.symbol.endswith(f"::{symbol}")]

    def digest(self, function: Fn) -> str:
        """Return what a function and all that it calls are known by; comments and spaces do not count."""
        return hashlib.sha256("\0".join(sorted(self._closure.of(function.index))).encode()).hexdigest()

    def launched(self, function: Fn) -> Launched:
        """Return what a function, and what it calls, puts on the device."""
        found = self._launched.of(function.index)
        return Launched(
            tuple(sorted(one.removeprefix("kernel ") for one in found if one.startswith("kernel "))),
            tuple(sorted(one.removeprefix("family ") for one in found if one.startswith("family "))),
        )

    def tests_of(self, function: Fn) -> list[ReachingTest]:
        """Return the tests that reach a function, those that open a device and run by themselves first."""
        chains = self._chains(function)
        found = [self._told(self._functions[index], chain) for index, chain in chains.items()]
        return sorted(found, key=_use)

    def reached_by(self, test: Fn) -> list[Fn]:
        """Return the product functions that a test runs and that put work on the device."""
        launching = self._judgement.summaries.launching
        seen = {test.index}
        queue = deque((test,))
        asks_gradients = self._reach.asks_gradients(test)
        found: list[Fn] = []
        while queue:
            function = queue.popleft()
            if function.is_product_code and function.index in launching:
                found.append(function)
            passes = self._reach.passes_built(function) if asks_gradients else ()
            for callee in (*self._reach.callees(function), *passes):
                if callee.index not in seen:
                    seen.add(callee.index)
                    queue.append(callee)
        return found

    def told(self, test: Fn) -> ReachingTest:
        """Return what is known of a test by itself."""
        return self._told(test, (test.symbol,))

    def own_digests(self) -> dict[str, frozenset[str]]:
        """Return what each product function is known by, by itself; functions of one name together."""
        found: dict[str, set[str]] = defaultdict(set)
        for function in self._with_body:
            if function.is_product_code:
                found[function.symbol].add(self._body(function.index))
        return {symbol: frozenset(digests) for symbol, digests in found.items()}

    def run_by(self, function: Fn) -> list[Fn]:
        """Return a function and the product code that it runs, nearest first."""
        seen = {function.index}
        queue = deque((function,))
        found: list[Fn] = []
        while queue:
            one = queue.popleft()
            found.append(one)
            for callee in self._reach.callees(one):
                if callee.index not in seen and callee.is_product_code:
                    seen.add(callee.index)
                    queue.append(callee)
        return found

    @cached_property
    def tests(self) -> tuple[Fn, ...]:
        """All tests with a name of their own."""
        return tuple(
            one
            for one in self._judgement.test_functions
            if not one.facts.has_spliced_name and one.unit.package
        )

    @cached_property
    def _with_body(self) -> tuple[Fn, ...]:
        return tuple(one for one in self._functions if one.has_body)

    # -- who reaches a function ----------------------------------------------------------------------------

    @cached_property
    def _callers(self) -> tuple[Mapping[int, list[int]], Mapping[int, list[int]]]:
        """Who calls a function, and who builds the node whose backward pass it is."""
        calls: dict[int, list[int]] = defaultdict(list)
        builds: dict[int, list[int]] = defaultdict(list)
        for function in self._with_body:
            for callee in self._reach.callees(function):
                calls[callee.index].append(function.index)
            for one in self._reach.passes_built(function):
                builds[one.index].append(function.index)
        return calls, builds

    def _chains(self, function: Fn) -> dict[int, tuple[str, ...]]:
        """Return, for each test that reaches a function, the shortest chain of symbols to it.

        What is reached through a node's backward pass counts for tests that ask for gradients only.
        """
        tests = {one.index for one in self.tests}
        plain = self._walk_back(function, with_passes=False)
        found = {index: chain for index, chain in plain.items() if index in tests}
        for index, chain in self._walk_back(function, with_passes=True).items():
            if index in tests and index not in found and self._reach.asks_gradients(self._functions[index]):
                found[index] = chain
        return found

    def _walk_back(self, function: Fn, *, with_passes: bool) -> dict[int, tuple[str, ...]]:
        calls, builds = self._callers
        chains: dict[int, tuple[str, ...]] = {function.index: (function.symbol,)}
        queue = deque((function.index,))
        while queue:
            index = queue.popleft()
            befores = [*calls.get(index, ()), *(builds.get(index, ()) if with_passes else ())]
            for before in befores:
                if before not in chains:
                    chains[before] = (self._functions[before].symbol, *chains[index])
                    queue.append(before)
        return chains

    def _told(self, test: Fn, chain: tuple[str, ...]) -> ReachingTest:
        unit, package = test.unit, test.unit.package
        is_integration = unit.target_kind in ("test", "bench", "example")
        body = test.text(test.facts.body_start, test.facts.body_end)
        error = self._asserted_error(body)
        return ReachingTest(
            symbol=test.symbol,
            crate=package.name if package is not None else "",
            binary=_binary(unit.path) if is_integration else (package.crate_name if package else ""),
            name="::".join((*test.module, test.name)),
            path=unit.path,
            line=test.line,
            chain=chain,
            opens_device=self._reach.opens_device(test),
            is_ignored=self._reach.is_ignored(test),
            is_dead=self._reach.is_dead(test),
            asserts_structured_error=bool(error),
            compares_values=_COMPARES.search(body) is not None,
            error=error,
        )

    def _asserted_error(self, body: str) -> str:
        if _ASSERTS_ERROR.search(body) is None:
            return ""
        names = "|".join(map(re.escape, self._judgement.profile.errors.structured))
        found = re.search(rf"::({names})\b", body) if names else None
        return found[1] if found is not None else ""

    # -- what a function is ------------------------------------------------------------------------------

    def _body(self, index: int) -> str:
        known = self._bodies.get(index)
        if known is None:
            function = self._functions[index]
            text = tokens(function.text(function.facts.start, function.facts.end))
            known = self._bodies[index] = hashlib.sha256(f"{function.symbol}\0{text}".encode()).hexdigest()
        return known

    def _own_launches(self, function: Fn) -> Iterator[str]:
        """Yield the kernels and families that a function's own calls name."""
        words = self._judgement.profile.launch
        families = frozenset(words.library_families)
        for call in function.facts.calls:
            if call.name in words.compile_calls or self._judgement.summaries.is_launch(function, call):
                for name in _kernel_names(function, call):
                    yield f"kernel {name}"
            library = _LIBRARY.match(call.name)
            family = library[1] if library else ("cublas" if _GEMM.match(call.name) else "")
            if family in families:
                yield f"family {family}"


def _kernel_names(function: Fn, call: Call) -> list[str]:
    """Return the names that a call is given as plain strings: those of kernels, not of files or messages."""
    return _STRING.findall(function.text(call.arguments_start, call.end))


def _use(test: ReachingTest) -> tuple[bool, bool, bool, int, str]:
    """Sort what can prove something first, and the shortest way before longer ones."""
    return (not test.opens_device, test.is_ignored, test.is_dead, len(test.chain), test.symbol)


def _binary(path: str) -> str:
    """Return the name of the test target that a file is: its own, or its folder's where it is `main.rs`."""
    place = PurePosixPath(path)
    parts = place.parts
    inside = parts[len(parts) - 1 - parts[::-1].index("tests") + 1 :] if "tests" in parts else (place.name,)
    return inside[0].removesuffix(".rs")
