"""A file of the linked workspace, and its functions with the names they have there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import accumulate, count
from operator import add
from typing import Any, NamedTuple, TypeVar

from audit.scanner.extract.facts import Call, FileFacts, Function, Let, Region, Scope, ScopeKind
from audit.scanner.link.cargo import Package
from audit.scanner.link.cfg import Cfg, cfgs_of
from audit.scanner.report import Region as ReportRegion
from audit.scanner.suppression import Allowance, find_allowances

# Modules of tests that are compiled into the library, for other crates to run.
_TEST_MODULE = re.compile(r"^(?:tests?|testgen|testing|test_\w+|\w+_tests?)$")
_FIELD = re.compile(r"(?:^|[{,(\s])(?:pub(?:\([^)]*\))?\s+)?(\w+)\s*:\s*([^,{}]+)")
T = TypeVar("T")
_TEST_ATTRIBUTES = ("test", "rstest", "test_case", "quickcheck", "proptest")


class Enclosing(NamedTuple):
    """What encloses functions, told once for all that stand in the same scope."""

    scopes: tuple[Scope, ...]
    owner: Scope | None
    self_type: str
    trait: str
    module: tuple[str, ...]
    cfgs: tuple[Cfg, ...]
    is_test_code: bool


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
        # A file that stays as it is, where it is, keeps its functions from one commit to the next.
        self.functions: list[Fn] | None = None
        self.told: dict[object, Any] = {}
        """What others have worked out from the file and its place alone, under keys of theirs."""
        self.recall: Callable[[object], Any] | None = None
        """Where to ask for what was told in a scan before, when the file stood as it stands."""
        self._enclosing: dict[int, Enclosing] = {}

    def stands_as(self, other: Unit) -> bool:
        """Say whether this is the same file as another, in the same place of its workspace."""
        return (
            self.facts is other.facts
            and self.data == other.data
            and self.package is other.package
            and self.module == other.module
            and self.module_cfgs == other.module_cfgs
            and self.is_in_module_tree == other.is_in_module_tree
            and self.target_kind == other.target_kind
        )

    def told_once(self, key: object, tell: Callable[[Unit], T]) -> T:
        """Return what is told of the file and its place alone, told once for as long as it stands.

        What another file, or the profile, has a say in must not be told so.
        """
        found: T | None = self.told.get(key)
        if found is None:
            found = self.recall(key) if self.recall is not None else None
            if found is None:
                found = tell(self)
            self.told[key] = found
        return found

    def enclosing(self, scope: int) -> Enclosing:
        """Return what encloses the functions whose innermost scope has this index, -1 for none."""
        found = self._enclosing.get(scope)
        if found is None:
            found = self._enclosing[scope] = _enclosing(self, scope)
        return found

    def text(self, start: int, end: int) -> str:
        """Return the text of a span."""
        return self.data[start:end].decode("utf-8", "replace")

    def is_comment(self, offset: int) -> bool:
        """Say whether an offset lies in a comment."""
        comments = self.facts.comments
        index = bisect_right(comments, (offset, len(self.data))) - 1
        return index >= 0 and offset < comments[index][1]

    @cached_property
    def line_starts(self) -> list[int]:
        """The offsets at which lines start."""
        lengths = map(len, self.data.split(b"\n")[:-1])
        return list(map(add, accumulate(lengths, initial=0), count()))

    @cached_property
    def lowered(self) -> bytes:
        """The bytes in lower case."""
        return self.data.lower()

    @cached_property
    def called(self) -> dict[str, list[tuple[Fn, Call]]]:
        """The calls in functions of the file, by the name that is called."""
        found: defaultdict[str, list[tuple[Fn, Call]]] = defaultdict(list)
        for function in self.functions or ():
            for call in function.facts.calls:
                found[call.name].append((function, call))
        # Who asks it for a name that is not called must not add it.
        return dict(found)

    @cached_property
    def has_spliced_names(self) -> bool:
        """Whether a macro of the file gives functions the names that it is given."""
        return any(one.has_spliced_name for one in self.facts.functions)

    @cached_property
    def struct_fields(self) -> list[tuple[str, dict[str, str]]]:
        """The structs of the file, each with its fields and their types as written."""
        return self.told_once(_struct_fields, _struct_fields)

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

    __slots__ = (
        "__dict__",
        "cfgs",
        "facts",
        "has_body",
        "index",
        "is_product_code",
        "is_test",
        "is_test_code",
        "module",
        "name",
        "owner",
        "scopes",
        "self_type",
        "trait",
        "unit",
    )

    name: str
    """The bare name; of a function whose name a macro splices, the macro's."""
    scopes: tuple[Scope, ...]
    """The enclosing scopes, innermost first."""
    owner: Scope | None
    """The impl block or trait that holds the function."""
    self_type: str
    """The base name of the type (or trait) that the function belongs to."""
    trait: str
    """The base name of the trait that the impl block implements, or of the trait itself."""
    module: tuple[str, ...]
    """The module path inside the crate."""
    cfgs: tuple[Cfg, ...]
    """The predicates under which the function is compiled."""
    has_body: bool
    """Whether there is a body."""
    is_test: bool
    """Whether the function is a test itself."""
    is_test_code: bool
    """Whether the function is compiled for tests only."""
    is_product_code: bool
    """Whether users of the crate can reach the function: no test, example, bench or build script."""

    def __init__(self, unit: Unit, facts: Function, index: int) -> None:
        self.unit = unit
        self.facts = facts
        self.index = index
        around = unit.enclosing(facts.scope)
        self.scopes, self.owner, self.self_type, self.trait, self.module, cfgs, is_test_code = around
        own = cfgs_of(facts.attributes) if facts.attributes else ()
        self.cfgs = unit.cfgs + own + cfgs
        self.has_body = facts.body_end > 0
        self.is_test = _is_test(facts.attributes)
        self.is_test_code = (
            self.is_test or is_test_code or (bool(own) and any(cfg.requires("test") for cfg in own))
        )
        self.is_product_code = not self.is_test_code and unit.target_kind in ("lib", "bin")
        self.name = facts.macro if facts.has_spliced_name else facts.name

    def __repr__(self) -> str:
        return f"<Fn {self.symbol}>"

    @property
    def is_trait_default(self) -> bool:
        """Whether this is a trait's own method with a body."""
        return self.owner is not None and self.owner.kind == ScopeKind.TRAIT and self.has_body

    @cached_property
    def symbol(self) -> str:
        """The fully qualified name: `crate::module::Type::function`."""
        parts = [self.unit.crate_name, *self.module, self.self_type, self.name]
        return "::".join(part for part in parts if part)

    @property
    def is_public(self) -> bool:
        """Whether the function is visible outside its module, or implements a trait."""
        return bool(self.facts.visibility) or bool(self.trait)

    def text(self, start: int, end: int) -> str:
        """Return the text of a span of the file."""
        return self.unit.data[start:end].decode("utf-8", "replace")

    @cached_property
    def line(self) -> int:
        """The line of the function's name."""
        return self.unit.line(self.facts.name_start)

    @cached_property
    def calls_by_end(self) -> dict[int, list[Call]]:
        """The calls of the function by where they end."""
        found: dict[int, list[Call]] = {}
        for call in self.facts.calls:
            found.setdefault(call.end, []).append(call)
        return found

    @cached_property
    def lets_by_name(self) -> dict[str, list[Let]]:
        """The lets that bind a value to one name, by that."""
        found: dict[str, list[Let]] = {}
        for let in self.facts.lets:
            if let.value_start:
                name = self.text(let.pattern_start, let.pattern_end).removeprefix("mut ").strip()
                found.setdefault(name, []).append(let)
        return found

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


def _struct_fields(unit: Unit) -> list[tuple[str, dict[str, str]]]:
    found = []
    for item in unit.facts.items:
        if item.kind == "struct":
            text = unit.text(item.start, item.end)
            body = text[text.find("{") :] if "{" in text else ""
            found.append((item.name, {name: type_.strip() for name, type_ in _FIELD.findall(body)}))
    return found


def _enclosing(unit: Unit, index: int) -> Enclosing:
    scopes: list[Scope] = []
    while index >= 0:
        scopes.append(unit.facts.scopes[index])
        index = scopes[-1].parent
    owner = scopes[0] if scopes and scopes[0].kind != ScopeKind.MODULE else None
    self_type = trait = ""
    if owner is not None:
        self_type = base_type(owner.name)
        trait = base_type(owner.name if owner.kind == ScopeKind.TRAIT else owner.trait)
    inner = [scope.name for scope in reversed(scopes) if scope.kind == ScopeKind.MODULE]
    module = (*unit.module, *inner)
    cfgs = cfgs_of(attribute for scope in scopes for attribute in scope.attributes)
    is_test_code = (
        unit.target_kind in ("test", "bench")
        or any(_TEST_MODULE.match(part) for part in module)
        or any(cfg.requires("test") for cfg in (*unit.cfgs, *cfgs))
    )
    return Enclosing(tuple(scopes), owner, self_type, trait, module, cfgs, is_test_code)


def _is_test(attributes: tuple[str, ...]) -> bool:
    for attribute in attributes:
        name = attribute[2:].split("(")[0].rstrip("] ").rpartition("::")[2].strip()
        if name in _TEST_ATTRIBUTES:
            return True
    return False


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
