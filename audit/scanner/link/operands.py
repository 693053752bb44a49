"""Whether an expression may stand for data on a device, and what a function's types say about it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property

from audit.scanner.extract.facts import Call, Let, RegionKind
from audit.scanner.extract.items import split_list
from audit.scanner.link.cargo import Package
from audit.scanner.link.enums import variants_of
from audit.scanner.link.flow import Flow
from audit.scanner.link.unit import Fn, Unit, base_type
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import Profile, any_pattern

_ROOT = re.compile(r"^([A-Za-z_][\w]*(?:\s*::\s*(?:<[^>]*>|\w+))*)\s*(.?)", re.DOTALL)
# A `RunResult` that is given nothing wraps nothing: it is a record.
_WRAPPERS = re.compile(r"\b(?:\w*Result(?=\s*<)|Result|Option|Arc|Box)\b")
_RESULT = re.compile(r"(?:\w+\s*::\s*)*Result\s*<(.*)>")
_CALLABLE = re.compile(r"\b(?:Fn|FnMut|FnOnce|fn)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_ASSOCIATED = re.compile(r"\bSelf::(\w+)")
_TYPE_NAME = re.compile(r"\b[A-Z]\w+")
# What is behind is looked at and not passed: a sentence about a type may seem to be one, and go on for long.
_ALIAS = re.compile(rb"type (?=(\w+)\s*=\s*([^;]+);)")
_PUBLIC = re.compile(rb"\s*pub(?:\([^()]*\))? ")
_LIST_TO_FILL = re.compile(r"&\s*(?:'\w+\s+)?mut\s+(?:Vec\s*<|\[)\s*(?:f(?:16|32|64)|bf16|T)\s*[>\]]")
# A type that says itself that it is on the host: `TensorCpu`, `HostBuffer`.
_HOST_TYPE = re.compile(r"^(?:Cpu|Host)(?:[A-Z]|$)|[a-z](?:Cpu|Host)(?:[A-Z]|$)")
# A type that says itself that it holds data of a device: `CudaStorage`, `GpuMatrix`.
_HELD_TYPE = re.compile(
    r"^(?:Q|Quantized)?(?:Cuda|Gpu|Metal|Wgpu|Hip|Rocm|Vulkan)\w*(?:Storage|Tensor|Buffer|Slice|Array|Matrix|Vec|Vector)$"
)
_NUMBER = re.compile(r"\b(?:bf16|[iuf](?:8|16|32|64|128|size))\b")
_FIELD_NAME = re.compile(r"\b\w+\s*:(?!:)")
_PLAIN = frozenset(
    {
        *("u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"),
        *("f16", "bf16", "f32", "f64", "bool", "char", "str", "static"),
        *("String", "Vec", "VecDeque", "Option", "HashMap", "BTreeMap", "HashSet", "BTreeSet"),
    }
)
_LEAVES = re.compile(r"(?:return|break|continue)\b")
_DEPTH = 5
Uses = Callable[[Unit], Mapping[str, tuple[str, ...]]]
_BRANCHES = frozenset({RegionKind.THEN, RegionKind.ELSE, RegionKind.ARM})


class Operands:
    """Answers for one profile."""

    def __init__(self, profile: Profile, workspace: Workspace, uses: Uses) -> None:
        """`uses` tells what the names stand for that a file imports, as paths."""
        self._workspace = workspace
        self._uses = uses
        self._defined = frozenset(item.name for unit in workspace.units.values() for item in unit.facts.items)
        self._aliases: dict[str, dict[str, str]] = {}
        transfer = profile.transfer
        self._constructors = frozenset(transfer.host_constructors)
        self._host_types = frozenset(transfer.host_types)
        self._device_types = frozenset(profile.device.tensor_types + profile.device.buffer_types)
        self._buffer_types = frozenset(profile.device.buffer_types)
        self._status = any_pattern(transfer.status_patterns)
        self._host_storage = any_pattern(transfer.host_storage_patterns)
        self._downloaded = any_pattern(
            tuple(rf"\b{re.escape(name)}\s*(?:::<[^>]*>)?\s*\(" for name in sorted(profile.downloads))
        )
        self._uploaded = any_pattern(
            tuple(rf"\b{re.escape(name)}\s*(?:::<[^>]*>)?\s*\(" for name in sorted(profile.uploads))
        )

    def may_be_on_device(self, function: Fn, flow: Flow, expression: str, call: Call) -> bool:
        """Say whether an expression that a call is given may be device data; what can't be told may."""
        return self._may_be(function, flow, expression, (call.start, call.region), _DEPTH)

    def _may_be(self, function: Fn, flow: Flow, expression: str, place: tuple[int, int], depth: int) -> bool:
        """Say it of an expression at an offset in a region."""
        text = expression.strip().lstrip("&*(").removeprefix("mut ").strip()
        if not text or depth == 0:
            return depth == 0
        if self._status.search(text):
            return False
        downloaded = max((found.end() for found in self._downloaded.finditer(text)), default=0)
        if downloaded:
            # The last transfer tells, also behind a constructor that is named for the host.
            return self._uploaded.search(text, downloaded) is not None
        root = _ROOT.match(text)
        if root is None:
            return not text[:1].isdigit() and text[:1] not in "\"'[|"
        path, following = root[1], root[2]
        if following == "(":
            return self._call_may_yield_device_data(text, path)
        if following == "!":
            return False
        if path in ("self", "match", "if", "unsafe"):
            return True
        if path in ("true", "false"):
            return False
        let = flow.let_in_scope(path, *place)
        if let is not None:
            branches = _branches(function, let)
            if branches:
                return any(self._may_be(function, flow, *one, depth - 1) for one in branches)
            value = _yielded(function, let)
            return value == text or self._may_be(function, flow, value, (let.start, let.region), depth - 1)
        type_ = next((one.type for one in function.facts.parameters if one.name == path), None)
        is_whole = path == text
        return type_ is None or (
            self.type_may_be_on_device(type_) and not (is_whole and self._is_host_generic(function, type_))
        )

    def _call_may_yield_device_data(self, text: str, path: str) -> bool:
        if self._uploaded.search(text):
            return True
        name = re.sub(r"::\s*<[^>]*>", "", path).rpartition("::")[2].strip()
        return name not in self._constructors and not self._host_storage.search(text)

    def _is_host_generic(self, function: Fn, type_: str) -> bool:
        """Say whether a type is a parameter whose bounds no device type fulfils: a scalar, a container."""
        name = type_.strip().lstrip("&").removeprefix("mut ").strip()
        if not name.isidentifier() or not name[0].isupper():
            return False
        facts = function.facts
        header = function.owner.header if function.owner is not None else ""
        signature = function.text(facts.name_start, facts.body_start or facts.end)
        bound = re.search(rf"\b{name}\s*:\s*([^,>{{)]+)", f"{facts.generics} {signature} {header}")
        if bound is None:
            return False
        implementors = self._workspace.implementors
        return not any(
            word in self._device_types or not self._device_types.isdisjoint(implementors.get(word, ()))
            for word in re.findall(r"[A-Z]\w*", bound[1])
        )

    def type_may_be_on_device(self, type_: str) -> bool:
        """Say whether a value of a type may be device data. Slices and host containers never are."""
        bare = type_.strip().lstrip("&").removeprefix("mut ").strip()
        if bare.startswith("[") and not self.names_device_type(bare):
            return False
        base = base_type(bare)
        return base not in self._host_types or self.names_device_type(bare)

    def names_device_type(self, type_: str) -> bool:
        """Say whether a type mentions a tensor or a device buffer."""
        return any(word in self._device_types for word in re.findall(r"\w+", type_))

    def holds_tensor(self, function: Fn) -> bool:
        """Say whether a function is given a tensor, as parameter or in its own type's fields."""
        if any(self.names_device_type(parameter.type) for parameter in function.facts.parameters):
            return True
        fields = self._workspace.struct_fields.get(function.self_type, {})
        return any(self.names_device_type(field) for field in fields.values())

    def names_buffer_type(self, type_: str) -> bool:
        """Say whether a type mentions a device buffer."""
        return any(word in self._buffer_types for word in re.findall(r"\w+", type_))

    def fills_host_list(self, function: Fn) -> bool:
        """Say whether a function returns nothing and is given a list of the host's numbers to fill."""
        return not _bare_return(function).strip("()") and any(
            _LIST_TO_FILL.match(one.type) for one in function.facts.parameters
        )

    def returns_host_data(self, function: Fn) -> bool:
        """Say whether a function's return type is host data: reading is what it is for."""
        written = function.facts.return_type
        if self._is_host_answer(function, self._meant(function, written)):
            return True
        # What an error holds says nothing of the numbers beside it.
        alone = _without_error(written)
        if alone == written:
            return False
        value = self._meant(function, alone)
        return _NUMBER.search(value) is not None and self._is_host_answer(function, value)

    def returns_records(self, function: Fn) -> bool:
        """Say whether a function's return type is host data but for enums, and these hold nothing else."""
        value = self._meant(function, _without_error(function.facts.return_type))
        plain = _TYPE_NAME.sub(lambda name: "u8" if name[0] in self._host_enums else name[0], value)
        return plain != value and self._is_host_answer(function, plain)

    def _meant(self, function: Fn, written: str) -> str:
        """Return a type as written in a function's signature, with what its names stand for."""
        type_ = _ASSOCIATED.sub(lambda name: _associated(function, name[1]), written)
        return _TYPE_NAME.sub(lambda name: self._meaning(function.unit, name[0]), type_)

    def _is_host_answer(self, function: Fn, type_: str) -> bool:
        if not type_:
            return self.fills_host_list(function)
        if self.names_device_type(type_) or re.search(r"\bSelf\b", type_):
            return False
        fields = self._workspace.struct_fields
        for word in re.findall(r"\w+", type_):
            if any(self.names_device_type(field) for field in fields.get(word, {}).values()):
                return False
        if any("&mut" in one.type and self.names_device_type(one.type) for one in function.facts.parameters):
            return False
        if self.fills_host_list(function):
            return True
        words = re.findall(r"(?<!')\b[A-Za-z_]\w*", _WRAPPERS.sub("", type_))
        is_conversion = function.name.startswith(("to_", "into_", "as_"))
        return bool(words) and all(is_conversion or self._is_host_word(word) for word in words)

    def _meaning(self, unit: Unit, name: str) -> str:
        """Return what a name of a type stands for in a file; the name itself where it is a type's own."""
        known = (
            name in self._host_types or name in self._device_types or name in self._workspace.struct_fields
        )
        if known or _WRAPPERS.fullmatch(name):
            return name
        meanings = self._aliases.get(unit.path)
        if meanings is None:
            meanings = self._aliases[unit.path] = _aliases_in(unit.data)
        if name not in meanings:
            meanings[name] = self._imported(unit, name)
        return meanings[name]

    def _imported(self, unit: Unit, name: str) -> str:
        """Return what an imported name stands for where it comes from; the name where that is open."""
        path = self._uses(unit).get(name, ())
        if len(path) < 2 or path[-1] in self._defined:
            return name
        is_own = path[0] in ("crate", "super", "self")
        meanings = {
            meaning
            for package, crate, meaning in self._public_aliases.get(path[-1], ())
            if (package is unit.package if is_own else crate == path[0])
        }
        return meanings.pop() if len(meanings) == 1 else name

    @cached_property
    def _public_aliases(self) -> Mapping[str, list[tuple[Package | None, str, str]]]:
        """What names of types that are offered to other files stand for, with package and crate, by name."""
        found: dict[str, list[tuple[Package | None, str, str]]] = defaultdict(list)
        for unit in self._workspace.units.values():
            for name, meaning in unit.told_once(_public_aliases_in, _public_aliases_in):
                found[name].append((unit.package, unit.crate_name, meaning))
        return found

    @cached_property
    def _host_enums(self) -> frozenset[str]:
        """The names of enums that hold numbers and texts of the host alone."""
        found: dict[str, bool] = {}
        for unit in self._workspace.units.values():
            for item in unit.facts.items:
                if item.kind == "enum":
                    is_plain = _holds_plain_data(unit.text(item.start, item.end))
                    found[item.name] = found.get(item.name, True) and is_plain
        return frozenset(name for name, is_plain in found.items() if is_plain)

    def returns_positions(self, function: Fn) -> bool:
        """Say whether a function returns a list of integers."""
        return bool(re.fullmatch(r"Vec<(?:usize|[iu](?:32|64))", _bare_return(function)))

    def returns_scalar(self, function: Fn) -> bool:
        """Say whether a function returns one number or a truth value."""
        return bool(re.fullmatch(r"bool|[iuf](?:8|16|32|64|size)", _bare_return(function)))

    def returns_element(self, function: Fn) -> bool:
        """Say whether a function returns one element of a generic type: an operator's result, no list."""
        return len(_bare_return(function)) == 1

    def _is_host_word(self, word: str) -> bool:
        """Say whether a word of a type is a host type; a name that nothing is known of is none."""
        if _HELD_TYPE.match(word):
            return False
        return (
            word[0].islower()
            or len(word) == 1
            or word in self._host_types
            or word in self._workspace.struct_fields
            or _HOST_TYPE.search(word) is not None
            or word not in self._defined
        )

    def makes_host_storage(self, text: str) -> bool:
        """Say whether a text builds a tensor's storage from host data."""
        return bool(self._host_storage.search(text))

    def takes_callable(self, function: Fn) -> bool:
        """Say whether a parameter is a function of host values, directly or through a bound.

        A function of tensors is a user's model, not the body of an element-wise operator.
        """
        facts = function.facts
        header = function.text(facts.name_start, facts.body_start or facts.end)
        return any(not self.names_device_type(found[1]) for found in _CALLABLE.finditer(header))


def _yielded(function: Fn, let: Let) -> str:
    """Return the value of a let as text, without what closures in it do before they yield theirs."""
    kept = ""
    start = let.value_start
    for region in function.facts.regions:
        if region.kind == RegionKind.CLOSURE and start <= region.start < region.tail_start < let.value_end:
            kept += function.text(start, region.start)
            start = region.tail_start
    return kept + function.text(start, let.value_end)


def _branches(function: Fn, let: Let) -> list[tuple[str, tuple[int, int]]]:
    """Return what the branches of a match or an if yield that a let is, each with where it stands.

    What a pattern binds and an arm yields is a part of what is matched.
    """
    found = []
    for index, region in enumerate(function.facts.regions):
        is_branch = region.kind in _BRANCHES and region.group_start == let.value_start
        if not is_branch or region.parent != let.region or region.tail_start == region.tail_end:
            continue
        value, place = function.text(region.tail_start, region.tail_end), (region.tail_start, index)
        if _LEAVES.match(value):
            continue
        bound = function.text(region.pattern_start, region.pattern_end)
        if region.kind == RegionKind.ARM and re.search(rf"\b{re.escape(value)}\b", bound):
            value = function.text(region.condition_start, region.condition_end)
            place = (region.condition_start, let.region)
        found.append((value, place))
    return found


def _associated(function: Fn, name: str) -> str:
    """Return the type that an impl block gives an associated type, or its name where none is given."""
    scope = function.owner
    body = function.text(scope.body_start, scope.body_end) if scope is not None else ""
    given = re.search(rf"\btype\s+{name}\s*=\s*([^;]+);", body)
    return given[1] if given is not None else f"Self::{name}"


def _aliases_in(data: bytes) -> dict[str, str]:
    """Return the types of a file that stand for others, by name: each `type Name = ..;`."""
    return {match[1].decode(): match[2].decode("utf-8", "replace") for match in _ALIAS.finditer(data)}


def _without_error(type_: str) -> str:
    """Return what a result holds where all is well; any other type as it is."""
    given = _RESULT.fullmatch(type_)
    held = split_list(given[1]) if given is not None else ()
    return held[0] if len(held) == 2 else type_


def _holds_plain_data(enum: str) -> bool:
    """Say whether the variants of an enum hold nothing but numbers, texts, and lists of them."""
    variants = variants_of(enum)
    return bool(variants) and all(
        _PLAIN.issuperset(re.findall(r"[A-Za-z_]\w*", _FIELD_NAME.sub("", payload)))
        for _, payload in variants
    )


def _public_aliases_in(unit: Unit) -> list[tuple[str, str]]:
    """Return those of them that other files may import, with what they stand for."""
    return [
        (match[1].decode(), match[2].decode("utf-8", "replace"))
        for match in _ALIAS.finditer(unit.data)
        if _PUBLIC.fullmatch(unit.data, unit.data.rfind(b"\n", 0, match.start()) + 1, match.start())
    ]


def _bare_return(function: Fn) -> str:
    return _WRAPPERS.sub("", _without_error(function.facts.return_type)).strip("<> ")
