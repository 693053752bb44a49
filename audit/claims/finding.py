"""Finding in a commit message or changelog what it says was done about the device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from audit.claims.kinds import (
    COUNTS,
    NOT_CODE,
    NOT_DONE,
    OTHER_SITES,
    PATTERNS,
    SUBJECT,
    SUBJECT_LINE,
    ClaimKind,
)

LONGEST_SENTENCE = 600
_PREFIXES = ("gpu_", "cuda_", "cpu_")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d+[.)]|#+)\s+")
_SENTENCE_END = re.compile(r"(?<=[.;!])\s+(?=[A-Z`(\[\"§])")
_TRAILER = re.compile(r"^(?:[A-Z][\w-]*-[Bb]y:|(?:Closes|Refs|Fixes|See):?\s#|Follow-ups?:)")
# What is taken back is named by its subject, and is no longer claimed.
_REVERT = re.compile(r'^Revert\s+"')
# `feat(core,test): ...`: what the parts are called says nothing of what was done.
_SCOPE = re.compile(r"^(\w+)\([^)]*\)(!?:)")
_BACKTICKED = re.compile(r"`([^`\s]{2,80})`")
_CODE_LIKE = re.compile(
    r"\b(?:[A-Za-z_]\w*::)*(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b(?:\(\))?"
)
_FILE = re.compile(r"/|\.(?:rs|py|toml|md|cu|json)$")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that says what was done. `line` counts from 1; `names` are the code it speaks of."""

    kind: ClaimKind
    text: str
    line: int
    count: int | None = None
    names: tuple[str, ...] = ()


def last_part(name: str) -> str:
    """Return the last part of a name of code, without what tells the device."""
    last = name.rsplit("::", 1)[-1].split("<", 1)[0].lower()
    return next((last.removeprefix(prefix) for prefix in _PREFIXES if last.startswith(prefix)), last)


def find_claims(text: str) -> tuple[Claim, ...]:
    """List what a commit message claims, at most one claim a sentence, in order."""
    subject = text.strip().split("\n", 1)[0]
    is_of_the_subject = bool(SUBJECT_LINE.search(subject))
    found = []
    for line, sentence in sentences(text):
        claim = _claim(line, sentence, is_of_the_subject)
        if claim is not None:
            found.append(claim)
    return tuple(found)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences with their lines: paragraphs and list items are put together, then parted."""
    for line, block in _blocks(text):
        for sentence in _SENTENCE_END.split(block):
            if sentence.strip():
                yield line, sentence.strip()


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    start, parts = 0, list[str]()
    for number, raw in enumerate(text.splitlines(), start=1):
        is_new = bool(_BULLET.match(raw)) or not raw.strip() or bool(_TRAILER.match(raw))
        if parts and (is_new or number == 2):
            yield start, " ".join(parts)
            parts = []
        if raw.strip():
            if not parts:
                start = number
            parts.append(_BULLET.sub("", raw).strip())
    if parts:
        yield start, " ".join(parts)


def _claim(line: int, sentence: str, is_of_the_subject: bool) -> Claim | None:
    sentence = _SCOPE.sub(r"\1\2", sentence)
    if len(sentence) > LONGEST_SENTENCE or _TRAILER.match(sentence) or sentence.endswith("?"):
        return None
    if _REVERT.match(sentence):
        return None
    counted = _counted(sentence)
    if counted is not None and (is_of_the_subject or SUBJECT.search(sentence)):
        return Claim(ClaimKind.COUNTED, sentence, line, counted, _names(sentence))
    for kind, pattern in PATTERNS:
        match = pattern.search(sentence)
        if match and not _is_no_claim(sentence, match):
            return Claim(kind, sentence, line, None, _names(sentence))
    return None


def _counted(sentence: str) -> int | None:
    for pattern in COUNTS:
        for match in pattern.finditer(sentence):
            # What kind of site it was stands between the number and the noun, or right behind.
            near = match["what"] + sentence[match.end() : match.end() + 40]
            is_other = OTHER_SITES.search(near) or OTHER_SITES.search(match[0])
            if not is_other and not NOT_DONE.search(sentence[: match.end()]):
                return int(match["count"])
    return None


def _is_no_claim(sentence: str, match: re.Match[str]) -> bool:
    clause = sentence[max(0, match.start() - 80) : match.end() + 60]
    return bool(NOT_DONE.search(clause) or NOT_CODE.search(clause))


def _names(sentence: str) -> tuple[str, ...]:
    found = [*_BACKTICKED.findall(sentence), *_CODE_LIKE.findall(sentence)]
    names = (name.strip("()").rstrip("!") for name in found if not _FILE.search(name))
    return tuple(dict.fromkeys(name for name in names if re.fullmatch(r"[\w:<>]{3,80}", name)))
