"""A file of the linked workspace, and its functions with the names they have there."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate

from audit.scanner.extract.facts import FileFacts, Function, Region, Scope, ScopeKind
from audit.scanner.link.cargo import Package
from audit.scanner.link.cfg import Cfg, cfgs_of
from audit.scanner.report import Region as ReportRegion
from audit.scanner.suppression import Allowance, find_allowances

# Modules of tests that are compiled into the library, for other crates to run.
_TEST_MODULE = re.compile(r"^(?:tests?|testgen|testing|test_\w+|\w+_tests?)$")
_TEST_ATTRIBUTES = ("test", "rstest", "test_case", "quickcheck", "proptest")


class Unit:
    """One Rust file: its bytes, its facts, and where it stands in the workspace."""

    def __init__(self, path: str, blob_id: str, data: bytes, facts: FileFacts) -> None:
        self.path = path
        self.blob_id = blob_id
        self.data = data
        self.facts = facts
        self.package: Package | None = None
        self.module: tuple[str, ...] = ()
        self.module_cfgs: tuple[Cfg, ...] = ()
        self.is_in_module_tree = False
        self.target_kind = "lib"

    def text(self, start: int, end: int) -> str:
        """Return the text of a span."""
        return self.data[start:end].decode("utf-8", "replace")

    @cached_property
    def line_starts(self) -> list[int]:
        """The offsets at which lines start."""
        return list(accumulate([len(line) + 1 for line in self.data.split(b"\n")[:-1]], initial=0))

    def line(self, offset: int) -> int:
        """Return the line of an offset, from 1."""
        return bisect_right(self.line_starts, offset)

    def region(self, start: int, end: int) -> ReportRegion:
        """Return the SARIF region of a span."""
        end = max(end, start + 1)
        first, last = self.line(start), self.line(end - 1)
        first_start, last_start = self.line_starts[first - 1], self.line_starts[last - 1]
        return ReportRegion(
            first,
            len(self.text(first_start, start)) + 1,
            last,
            len(self.text(last_start, end)) + 1,
        )

    def lines(self, start: int, end: int) -> str:
        """Return the whole lines of a span."""
        line = self.line_starts[self.line(start) - 1]
        stop = self.data.find(b"\n", max(end - 1, start))
        return self.text(line, len(self.data) if stop < 0 else stop).replace("\r", "")

    @cached_property
    def allowances(self) -> tuple[Allowance, ...]:
        """The comments of the file that suppress results."""
        return find_allowances(self.data, self.facts.comments)

    @cached_property
    def cfgs(self) -> tuple[Cfg, ...]:
        """The predicates under which the whole file is compiled."""
        return self.module_cfgs + cfgs_of(self.facts.inner_attributes)

    @cached_property
    def crate_name(self) -> str:
        """The crate as Rust code names it; for tests and binaries the file's own."""
        return self.package.crate_name if self.package is not None else ""


class Fn:
    """A function of the linked workspace."""

    __slots__ = ("__dict__", "facts", "index", "name", "unit")

    name: str
    """The bare name; of a function whose name a macro splices, the macro's."""

    def __init__(self, unit: Unit, facts: Function, index: int) -> None:
        self.unit = unit
        self.facts = facts
        self.index = index
        self.name = facts.macro if facts.has_spliced_name else facts.name

    def __repr__(self) -> str:
        return f"<Fn {self.symbol}>"

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The enclosing scopes, innermost first."""
        found = []
        index = self.facts.scope
        while index >= 0:
            scope = self.unit.facts.scopes[index]
            found.append(scope)
            index = scope.parent
        return tuple(found)

    @cached_property
    def owner(self) -> Scope | None:
        """The impl block or trait that holds the function."""
        if self.scopes and self.scopes[0].kind != ScopeKind.MODULE:
            return self.scopes[0]
        return None

    @cached_property
    def self_type(self) -> str:
        """The base name of the type (or trait) that the function belongs to."""
        return base_type(self.owner.name) if self.owner is not None else ""

    @cached_property
    def trait(self) -> str:
        """The base name of the trait that the impl block implements, or of the trait itself."""
        if self.owner is None:
            return ""
        return base_type(self.owner.name if self.owner.kind == ScopeKind.TRAIT else self.owner.trait)

    @property
    def is_trait_default(self) -> bool:
        """Whether this is a trait's own method with a body."""
        return self.owner is not None and self.owner.kind == ScopeKind.TRAIT and self.has_body

    @property
    def has_body(self) -> bool:
        """Whether there is a body."""
        return self.facts.body_end > 0

    @cached_property
    def module(self) -> tuple[str, ...]:
        """The module path inside the crate."""
        inner = tuple(scope.name for scope in reversed(self.scopes) if scope.kind == ScopeKind.MODULE)
        return self.unit.module + inner

    @cached_property
    def symbol(self) -> str:
        """The fully qualified name: `crate::module::Type::function`."""
        parts = [self.unit.crate_name, *self.module, self.self_type, self.name]
        return "::".join(part for part in parts if part)

    @cached_property
    def cfgs(self) -> tuple[Cfg, ...]:
        """The predicates under which the function is compiled."""
        found = self.unit.cfgs + cfgs_of(self.facts.attributes)
        for scope in self.scopes:
            found += cfgs_of(scope.attributes)
        return found

    @cached_property
    def is_test(self) -> bool:
        """Whether the function is a test itself."""
        for attribute in self.facts.attributes:
            name = attribute[2:].split("(")[0].rstrip("] ").rpartition("::")[2].strip()
            if name in _TEST_ATTRIBUTES:
                return True
        return False

    @cached_property
    def is_test_code(self) -> bool:
        """Whether the function is compiled for tests only."""
        return (
            self.is_test
            or self.unit.target_kind in ("test", "bench")
            or any(_TEST_MODULE.match(part) for part in self.module)
            or any(cfg.requires("test") for cfg in self.cfgs)
        )

    @cached_property
    def is_product_code(self) -> bool:
        """Whether users of the crate can reach the function: no test, example, bench or build script."""
        return not self.is_test_code and self.unit.target_kind in ("lib", "bin")

    @property
    def is_public(self) -> bool:
        """Whether the function is visible outside its module, or implements a trait."""
        return bool(self.facts.visibility) or bool(self.trait)

    def text(self, start: int, end: int) -> str:
        """Return the text of a span of the file."""
        return self.unit.text(start, end)

    @cached_property
    def line(self) -> int:
        """The line of the function's name."""
        return self.unit.line(self.facts.name_start)

    def ancestors(self, region: int) -> list[int]:
        """Return a region and those around it, innermost first, the body last."""
        found = [region]
        while region:
            region = self.facts.regions[region].parent
            found.append(region)
        return found

    def innermost(self, offset: int) -> int:
        """Return the innermost region that holds an offset."""
        best = 0
        for index, region in enumerate(self.facts.regions):
            if region.start <= offset < region.end and region.start >= self.facts.regions[best].start:
                best = index
        return best

    def region_text(self, region: Region) -> str:
        """Return the text of a region."""
        return self.unit.text(region.start, region.end)


@lru_cache(maxsize=65_536)
def base_type(text: str) -> str:
    """Return the bare name of a type: without references, generics, path, `dyn` or `impl`."""
    text = text.strip()
    while True:
        before = text
        text = text.lstrip("&*( ")
        for prefix in ("mut ", "const ", "dyn ", "impl ", "'static "):
            text = text.removeprefix(prefix)
        if text.startswith("'"):
            text = text.partition(" ")[2]
        if text == before:
            break
    text = text.split("<")[0].split(" ")[0].split("+")[0]
    return text.rpartition("::")[2].rstrip(")> ,;")
