"""Findings in JSON: SARIF logs, and issues as GitHub exports them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from audit.imports.rows import MAX_TITLE, ImportFormatError, Place, Reading, Refusal, Row, clipped, squeezed
from audit.imports.sarif_checks import repositories_of, sarif_check
from audit.imports.texts import commit_of, names_of, places_of, subjects_of

MAX_ISSUE = 10**9


def read_json(text: str) -> Any:
    """Parse JSON; what is wrong is named with its line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ImportFormatError(f"Line {error.lineno}, column {error.colno}: {error.msg}.") from error
    except RecursionError as error:
        raise ImportFormatError("The JSON is nested too deeply.") from error


def read_sarif(text: str) -> Reading:
    """Read the results of every run of a SARIF log."""
    log = read_json(text)
    sarif_check(log)
    rows: list[Row] = []
    refused: list[Refusal] = []
    commit = ""
    number = 0
    for run in log["runs"]:
        commit = commit or _revision(run)
        for result in run.get("results") or ():
            number += 1
            try:
                rows.append(_sarif_row(number, result))
            except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
                refused.append(Refusal(number, f"result {number} is not as SARIF 2.1.0 has it: {error}"))
    return Reading(tuple(rows), tuple(refused), commit, tuple(repositories_of(log)))


def read_issues(text: str) -> Reading:
    """Read issues: a list, or an object that holds one, as `gh issue list --json` and the API write it."""
    data = read_json(text)
    if isinstance(data, dict):
        data = next(
            (data[key] for key in ("issues", "items", "data") if isinstance(data.get(key), list)), None
        )
    if not isinstance(data, list):
        raise ImportFormatError("The document holds no list of issues.")
    rows: list[Row] = []
    refused: list[Refusal] = []
    for number, issue in enumerate(data, 1):
        read = _issue_row(number, issue)
        (rows if isinstance(read, Row) else refused).append(read)  # type: ignore[arg-type]
    return Reading(tuple(rows), tuple(refused))


def _revision(run: Mapping[str, Any]) -> str:
    for one in run.get("versionControlProvenance") or ():
        if isinstance(one, dict) and one.get("revisionId"):
            return str(one["revisionId"])
    return ""


def _sarif_row(number: int, result: Mapping[str, Any]) -> Row:
    message = result["message"]
    said = str(message.get("text") or message.get("markdown") or message["id"])
    rule = str(result.get("ruleId") or result.get("rule", {}).get("id", ""))
    places = tuple(_sarif_places(result.get("locations") or ()))
    logical = [
        str(name["fullyQualifiedName"]).rpartition("::")[2]
        for location in result.get("locations") or ()
        for name in location.get("logicalLocations") or ()
        if name.get("fullyQualifiedName")
    ]
    own_id = str(result.get("guid") or result.get("correlationGuid") or "")
    return Row(
        line=number,
        title=clipped(squeezed(f"{rule}: {said}" if rule else said), MAX_TITLE),
        text=said,
        section=rule[:300],
        severity=str(result.get("level", "warning"))[:20],
        own_id=f"sarif:{own_id or ' '.join((rule, said, *map(str, places)))}",
        places=places,
        names=tuple(dict.fromkeys((*logical, *names_of(said)))),
        rule_ids=subjects_of(f"{rule}\n{said}"),
    )


def _sarif_places(locations: Any) -> Iterator[Place]:
    for location in locations:
        physical = location.get("physicalLocation")
        if not physical:
            continue
        path = unquote(str(physical["artifactLocation"]["uri"])).removeprefix("file://").lstrip("/")
        region = physical.get("region") or {}
        start = int(region.get("startLine", 0))
        yield Place(path, start, max(start, int(region.get("endLine", start))))


def _issue_row(number: int, issue: Any) -> Row | Refusal:
    if not isinstance(issue, dict) or not isinstance(issue.get("title"), str) or not issue["title"].strip():
        return Refusal(number, f"entry {number} of the list has no `title`: it is no issue")
    own = issue.get("number")
    if not isinstance(own, int) or isinstance(own, bool) or not 0 < own < MAX_ISSUE:
        return Refusal(number, f"entry {number} of the list has no `number`")
    body = str(issue.get("body") or "")
    text = f"{issue['title']}\n{body}"
    labels = [
        label.get("name", "") if isinstance(label, dict) else str(label)
        for label in issue.get("labels") or ()
    ]
    is_pull = "pull_request" in issue or "/pull/" in str(issue.get("html_url") or issue.get("url") or "")
    return Row(
        line=number,
        title=clipped(squeezed(issue["title"]), MAX_TITLE),
        text=body,
        section=clipped(", ".join([str(issue.get("state", "")).lower(), *labels]).strip(", "), 300),
        severity=next((label.lower()[:20] for label in labels if label.lower() in _SEVERITIES), ""),
        reference=f"{'pull request ' if is_pull else ''}#{own}",
        commit=commit_of(body),
        own_id=f"{'pull' if is_pull else 'issue'}:{own}",
        places=places_of(text),
        names=names_of(text),
        rule_ids=subjects_of(text),
    )


_SEVERITIES = frozenset({"critical", "high", "medium", "low", "major", "minor"})
