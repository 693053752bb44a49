"""Declarations of a linked workspace: its functions, trait methods and trait implementations.

An item that a macro of the same file makes (`xpu_unary!(xpu_neg, ..)`) is found by the macro's own matcher:
where the definition says `pub fn $name` or `Trait for $name`, the invocation's argument is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from audit.parity.operations import Declaration
from audit.scanner.extract.facts import Call, CallKind, Function, MacroDefinition, Scope, ScopeKind
from audit.scanner.link.cfg import cfgs_of
from audit.scanner.link.unit import Fn, Unit, base_type
from audit.scanner.link.workspace import Workspace

_PARAMETER = re.compile(r"\$(\w+)\s*:")
_FOR = re.compile(r"\bfor\s+\$(\w+)")


def _signature(function: Function, name: str) -> str:
    parameters = ", ".join(f"{p.name}: {p.type}" if p.type else p.name for p in function.parameters)
    result = f" -> {function.return_type}" if function.return_type else ""
    return " ".join(f"fn {name}({parameters}){result}".split())


def _crate(unit: Unit) -> str:
    return unit.package.name if unit.package is not None else ""


def _module_path(unit: Unit, module: tuple[str, ...]) -> str:
    return "::".join((unit.crate_name, *module))


def _is_test_scope(unit: Unit, scope: Scope) -> bool:
    index = unit.facts.scopes.index(scope)
    cfgs = unit.cfgs
    while index >= 0:
        cfgs += cfgs_of(unit.facts.scopes[index].attributes)
        index = unit.facts.scopes[index].parent
    return unit.target_kind not in ("lib", "bin") or any(cfg.requires("test") for cfg in cfgs)


def _modules_of(unit: Unit, scope_index: int) -> tuple[str, ...]:
    names: list[str] = []
    while scope_index >= 0:
        scope = unit.facts.scopes[scope_index]
        if scope.kind == ScopeKind.MODULE:
            names.insert(0, scope.name)
        scope_index = scope.parent
    return (*unit.module, *names)


def _of_function(function: Fn) -> Declaration:
    owner = function.owner
    return Declaration(
        path=function.unit.path,
        line=function.line,
        crate=_crate(function.unit),
        module_path=_module_path(function.unit, function.module),
        name=function.facts.name,
        owner=function.self_type,
        trait=function.trait,
        signature=_signature(function.facts, function.facts.name),
        is_public=function.facts.visibility == "pub",
        is_test=not function.is_product_code,
        in_trait=owner is not None and owner.kind == ScopeKind.TRAIT,
    )


def _of_impl(unit: Unit, scope: Scope, owner: str) -> Declaration:
    return Declaration(
        path=unit.path,
        line=unit.line(scope.start),
        crate=_crate(unit),
        module_path=_module_path(unit, _modules_of(unit, scope.parent)),
        name="",
        owner=owner,
        trait=base_type(scope.trait),
        is_test=_is_test_scope(unit, scope),
    )


def _arguments(unit: Unit, call: Call) -> list[str]:
    """Return the arguments of a macro invocation, split at commas outside brackets."""
    arguments, depth, current = [], 0, ""
    for character in unit.text(call.arguments_start, call.end).strip()[1:-1]:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            arguments.append(current.strip())
            current = ""
        else:
            current += character
    return [*arguments, current.strip()]


def _made(unit: Unit, macro: MacroDefinition, call: Call) -> Iterator[Declaration]:
    """Yield what one invocation of a macro makes."""
    matcher = unit.text(macro.start, macro.end).partition("=>")[0]
    names = dict(zip(_PARAMETER.findall(matcher), _arguments(unit, call), strict=False))
    line = unit.line(call.start)
    for function in unit.facts.functions:
        made = names.get(function.name, "")
        if function.macro == macro.name and function.has_spliced_name and made.isidentifier():
            yield Declaration(
                path=unit.path,
                line=line,
                crate=_crate(unit),
                module_path=_module_path(unit, unit.module),
                name=made,
                signature=_signature(function, made),
                is_public=function.visibility == "pub",
                is_test=unit.target_kind not in ("lib", "bin"),
            )
    for scope in unit.facts.scopes:
        target = _FOR.search(scope.header)
        if macro.start <= scope.start < macro.end and scope.trait and target is not None:
            made = names.get(target[1], "")
            if made.isidentifier():
                yield replace(_of_impl(unit, scope, made), line=line)


def _of_unit(unit: Unit) -> Iterator[Declaration]:
    for scope in unit.facts.scopes:
        if scope.kind == ScopeKind.IMPL and scope.trait and "$" not in scope.header:
            yield _of_impl(unit, scope, base_type(scope.name))
    macros = {macro.name: macro for macro in unit.facts.macros}
    for call in unit.facts.calls:
        if call.kind == CallKind.MACRO and call.name in macros:
            yield from _made(unit, macros[call.name], call)


def declarations(workspace: Workspace) -> tuple[Declaration, ...]:
    """Return what a workspace declares, sorted by place."""
    rows = [
        _of_function(function)
        for function in workspace.functions
        if not function.facts.macro and function.facts.outer < 0
    ]
    for unit in workspace.units.values():
        rows += _of_unit(unit)
    return tuple(sorted(rows))
