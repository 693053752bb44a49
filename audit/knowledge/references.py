"""Pull requests, issues, commits and sites that a text names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

MAX_REFERENCES = 200


class ReferenceKind(StrEnum):
    """What a text refers to."""

    ISSUE = "issue"
    PULL = "pull"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Reference:
    """A pull request or issue by its number, a commit by its id as written."""

    kind: ReferenceKind
    target: str


_URL = re.compile(
    r"https?://[^\s/]+/[\w.-]+/[\w.-]+/(?:-/)?(issues|pulls?|merge_requests|commits?)/([0-9a-f]{1,40})"
)
_KINDS = {
    "issues": ReferenceKind.ISSUE,
    "pull": ReferenceKind.PULL,
    "pulls": ReferenceKind.PULL,
    "merge_requests": ReferenceKind.PULL,
    "commit": ReferenceKind.COMMIT,
    "commits": ReferenceKind.COMMIT,
}
_NUMBER = re.compile(
    r"\b(?:pull requests?|pulls?|merge requests?|PRs?|MRs?)\s*(?:GH-|#|!)(?P<pull>[1-9]\d{0,6})\b|"
    r"(?<![\w/&#])(?:GH-|#)(?P<issue>[1-9]\d{0,6})\b|"
    r"\b(?:pull request|merge request|PR|MR)\s+(?P<bare>[1-9]\d{0,6})\b",
    re.IGNORECASE,
)
_SHA = re.compile(r"(?<![\w/.:-])(?P<tick>`?)(?P<sha>[0-9a-f]{7,40})(?P=tick)(?![\w-])")
_COMMIT_BEFORE = re.compile(r"\b(?:commits?|fixed in|since|at|in|by|of)\W{1,3}$", re.IGNORECASE)
_SITE = re.compile(r"\bsites?[:/ #]{1,2}(\d{1,12})\b", re.IGNORECASE)


def find_references(text: str) -> tuple[Reference, ...]:
    """List what a text refers to, each once, in order."""
    return tuple(dict.fromkeys(_references(text)))[:MAX_REFERENCES]


def find_sites(text: str) -> tuple[int, ...]:
    """List the sites a text names by their number: `site 12`, `site:12`, or the address of one."""
    return tuple(dict.fromkeys(int(number) for number in _SITE.findall(text)))[:MAX_REFERENCES]


def _references(text: str) -> Iterator[Reference]:
    for match in _URL.finditer(text):
        kind = _KINDS[match[1]]
        if kind is ReferenceKind.COMMIT and len(match[2]) >= 7:
            yield Reference(kind, match[2])
        elif kind is not ReferenceKind.COMMIT and match[2].isdigit():
            yield Reference(kind, str(int(match[2])))
    rest = re.sub(r"https?://\S+", " ", text)
    for match in _NUMBER.finditer(rest):
        if match["issue"]:
            yield Reference(ReferenceKind.ISSUE, match["issue"])
        else:
            yield Reference(ReferenceKind.PULL, match["pull"] or match["bare"])
    for match in _SHA.finditer(rest):
        if _is_commit(match, rest):
            yield Reference(ReferenceKind.COMMIT, match["sha"])


def _is_commit(match: re.Match[str], text: str) -> bool:
    """Tell a commit's id from a word or number: it mixes letters and digits, and is marked or introduced."""
    sha = match["sha"]
    if not (re.search(r"\d", sha) and re.search(r"[a-f]", sha)):
        return False
    return bool(match["tick"]) or len(sha) == 40 or bool(_COMMIT_BEFORE.search(text[: match.start()][-16:]))
