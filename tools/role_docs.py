"""Writes docs/roles.md: which role may do what, from the table that every request is held to."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from migrations_tracker.roles import OPERATIONS, PAGES, ROLE_TEXTS, Need, Role, Scope

_HEAD = [
    "# Roles",
    "",
    "A role is held in one repository, or in all of them. An administrator gives it on the repository's",
    "page, under *People*; an administrator of the installation (a superuser) is one in each repository.",
    "Without a role a repository is not there: its pages answer 404. With a role that does not suffice they",
    "answer 403.",
    "A program that shows a token may what the token's owner may, less what the token's scope leaves out.",
    "",
]
_SCOPES: Mapping[Scope, str] = {
    Scope.REPOSITORY: "In a repository",
    Scope.SYSTEM: "In the installation",
    Scope.LISTED: "Lists",
    Scope.OWN: "One's own",
    Scope.RUNNER: "Runners",
    Scope.SIGNED: "Git servers",
    Scope.PUBLIC: "Without a log-in",
}
_NOTES: Mapping[Scope, str] = {
    Scope.REPOSITORY: "The role in the repository of the site, unit, scan or report counts.",
    Scope.SYSTEM: "To look, any role will do; to change something, the role held in all repositories counts.",
    Scope.LISTED: "For everybody who is logged in; they show the repositories in which one has a role.",
    Scope.OWN: "Everybody, and nobody else's.",
    Scope.RUNNER: "A GPU machine with its own token, and nobody else.",
    Scope.SIGNED: "Whoever signs with the repository's secret.",
    Scope.PUBLIC: "",
}


def roles() -> str:
    """Return the page."""
    lines = ["<!-- Made from the code by `make docs`; change it there. -->", "", *_HEAD]
    lines += ["| role | what it is for |", "| --- | --- |"]
    lines += [f"| {role.name.lower()} | {text} |" for role, text in ROLE_TEXTS.items()]
    lines += ["| runner | Takes verification jobs; no person has this role. |", ""]
    for scope, title in _SCOPES.items():
        lines += [f"## {title}", "", *([_NOTES[scope], ""] if _NOTES[scope] else []), *_table(scope), ""]
    return "\n".join(lines)


def _table(scope: Scope) -> Iterator[str]:
    columns = [role.name.lower() for role in ROLE_TEXTS]
    yield f"| what | {' | '.join(columns)} | runner |"
    yield f"| --- |{' --- |' * (len(columns) + 1)}"
    views = _said()
    for name, need in PAGES.items():
        if need.scope is scope:
            yield from _rows(f"`{name}` {views[name]}", need)
    for operation, need in OPERATIONS.items():
        if need.scope is scope:
            is_safe = operation.startswith("GET")
            yield _row(f"API `{operation}`", need, is_safe=is_safe)


def _rows(what: str, need: Need) -> Iterator[str]:
    if need.scope not in (Scope.REPOSITORY, Scope.SYSTEM):
        yield _row(what, need, is_safe=True)
        return
    if need.write is Role.NOBODY or need.read is need.write:
        yield _row(what, need, is_safe=True)
        return
    yield _row(f"{what} (to look)", need, is_safe=True)
    yield _row(f"{what} (to change)", need, is_safe=False)


def _row(what: str, need: Need, *, is_safe: bool) -> str:
    needed = need.role_for(is_safe=is_safe)
    cells = ["yes" if role >= needed and need.scope is not Scope.RUNNER else "no" for role in ROLE_TEXTS]
    is_runner = need.scope in (Scope.RUNNER, Scope.PUBLIC)
    return f"| {what} | {' | '.join(cells)} | {'yes' if is_runner else 'no'} |"


def _said() -> Mapping[str, str]:
    """Return the first sentence of each page's view."""
    from django.urls import URLPattern, get_resolver

    found = {}
    waiting = list(get_resolver().url_patterns)
    while waiting:
        pattern = waiting.pop()
        if isinstance(pattern, URLPattern):
            text = inspect.getdoc(inspect.unwrap(pattern.callback)) or ""
            found[str(pattern.name)] = text.partition("\n")[0].replace("|", "\\|")
        elif not pattern.namespace:
            waiting += pattern.url_patterns
    found |= {"login": "Log in.", "logout": "Log out."}
    return found
