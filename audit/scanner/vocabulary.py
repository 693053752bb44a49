"""The policy's vocabulary: phrases that a report about GPU work may not use.

A pure function of text, for comments, documentation, changelogs and commit messages alike.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import AnyStr, NamedTuple


class Phrase(NamedTuple):
    """A phrase that the policy forbids, by its place in the text, in characters."""

    start: int
    end: int
    form: str
    text: str


class _Places(NamedTuple):
    """Where in a text its parts stand that are left: their starts, and how far each was moved."""

    starts: list[int]
    shifts: list[int]

    def of(self, offset: int) -> int:
        """Return where in the whole text a character stands."""
        return offset + self.shifts[bisect_right(self.starts, offset) - 1]


def _any(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


_GPU = _any("gpus?", "cuda", "rocm", "hip", "wgpu", "metal", "mps", "vulkan", "xpu", "accelerators?")
# A staging copy through host memory computes nothing there.
_STAGING = _any("memory", "buffer", "cop(?:y|ies)", "staged", "staging", "mediated", "bounce", "transfer")
_HOST = _any("cpu", rf"host(?![\s-]+{_STAGING})")
_READY = _any(
    "available", "availability", "present", "possible", "supported", "found", "detected", "installed"
)
_WRONG = _any(
    *("errors?", "fails?", "failed", "failures?", "unavailable", "missing", "absent", "can't", "cannot"),
    *("isn't", "not (?:available|found|present)", "no (?:gpu|cuda|device|backend|driver|adapter|kernel)"),
)
_IF = _any("if", "when", "whenever", "where")
_WHEN = _any("on", "upon", "if", "when", "whenever", "after", "in case")
_BACK = _any(r"falls?[\s-]+back", r"falling[\s-]+back", "fallback", "reverts?", "degrades?")
_WAY = _any("paths?", "branch(?:es)?", "arms?", "code", "routines?", "implementations?")
_TO_HOST = rf"(?:on)?to\s+(?:an?\s+|the\s+|its\s+)?(?:\w+\s+)?{_HOST}\b"
_TO_DOING_ON_HOST = rf"to\s+\w+ing\s+(?:\w+\s+){{0,3}}?on\s+(?:the\s+)?{_HOST}\b"
_BACK_TO_HOST = rf"\b{_BACK}\s+(?:\w+ly\s+)?(?:{_TO_HOST}|{_TO_DOING_ON_HOST})"
_OTHERWISE_HOST = rf"(?:otherwise|else)\b.{{0,25}}?\b{_HOST}\b|{_HOST}\b.{{0,20}}?\b(?:otherwise|else)\b"
_SMOOTHLY = rf"\b{_any('automatic', 'graceful', 'transparent', 'seamless')}(?:al)?(?:ly)?\b"
_SUPPORT = _any("support", "acceleration", "execution", r"offload\w*", "backend", "kernels?")
_BEST_EFFORT = r"best[\s-]+effort\b"


_PATTERNS = (
    (
        "gpu-when-available",
        (
            rf"\b{_GPU}\b.{{0,40}}?\b{_IF}\b.{{0,25}}?\b{_READY}\b.{{0,25}}?"
            rf"\b(?:{_OTHERWISE_HOST}|(?:or|and)\b.{{0,25}}?\b{_HOST}\b|{_BACK}\b.{{0,25}}?\b{_HOST}\b"
            rf"|{_HOST}[\s-]+fallback\b)"
        ),
        rf"\b{_IF}\b.{{0,25}}?\b{_GPU}\b.{{0,20}}?\b{_READY}\b.{{0,60}}?\b(?:{_OTHERWISE_HOST})",
    ),
    (
        "falls-back-on-error",
        rf"{_BACK_TO_HOST}[^,;()]{{0,40}}?\b{_WHEN}\b[^,;()]{{0,40}}?\b{_WRONG}\b",
        rf"\b{_WHEN}\b[^;()]{{0,40}}?\b{_WRONG}\b(?:\s*\([^()]*\))?[^;()]{{0,40}}?{_BACK_TO_HOST}",
        rf"\b{_HOST}[\s-]+fallback\s+(?:{_WAY}\s+)?{_WHEN}\b.{{0,40}}?\b{_WRONG}\b",
    ),
    (
        "automatic-fallback",
        rf"{_SMOOTHLY}\s+(?:\w+\s+)?{_BACK}\s+{_TO_HOST}",
        rf"{_SMOOTHLY}\s+(?:\w+\s+)?{_HOST}[\s-]+fallback\b",
        rf"\b{_BACK}\s+{_SMOOTHLY}\s+{_TO_HOST}",
        rf"\b{_BACK}\s+{_TO_HOST}\s+{_SMOOTHLY}",
    ),
    (
        "best-effort-support",
        rf"\b{_BEST_EFFORT}\s+(?:\w+\s+)?{_GPU}[\s-]+{_SUPPORT}\b",
        rf"\b{_GPU}[\s-]+{_SUPPORT}\s+(?:is|as|on a)\s+(?:a\s+)?{_BEST_EFFORT}",
    ),
)
# Every phrase has one of these, and that again one of these, which are soon looked for.
_ROOTS = (
    *(b"fall", b"revert", b"degrade", b"effort"),
    *(b"availab", b"present", b"possible", b"supported", b"found", b"detected", b"installed"),
)
# An `\u017f` is an `s` to a pattern that ignores case.
_SUBJECTS = (b"cpu", b"host", b"effort", "\u017f".encode())
_TELLING = re.compile(rf"{_BACK}|{_BEST_EFFORT}|{_READY}", re.IGNORECASE)
_SUBJECT = re.compile("cpu|host|effort", re.IGNORECASE)
# What is denied, undone, or told of others right before the phrase's core is no claim.
_CORE = re.compile(rf"{_BACK}|{_BEST_EFFORT}|otherwise|else\b", re.IGNORECASE)
_DENIAL = _any(
    *(r"\b(?:do|does|did|will|wo|must|should|may)(?:n't| not)", r"\bnever", r"\bno longer", r"\bnor"),
    *(r"\bwithout", r"\binstead of", r"\brather than", r"\bremov\w+", r"\breplac\w+", r"\bdrop\w*"),
    *(r"\beliminat\w+", r"\bfix\w*", r"\bforbid\w*", r"\bbanned", r"\bdisallow\w*", r"\brefus\w+"),
    *(r"\bavoid\w*", r"\bprevent\w*", r"\bused to", r"\bwould", r"\bpreviously", r"\bformerly"),
    *(r"\bsays?", r"\bclaim\w*"),
    # What a switch decides.
    *(r"\bwhether(?: or not)?",),
)
# `no` denies the words next to it only: "if no GPU is there we fall back" is a claim.
_NO = r"\bno\s+(?:(?:more|such|hidden|implicit|silent|automatic|graceful|transparent|cpu|host)[\s-]+)*"
# Who calls it silent names a fault: nobody sells one by that word.
_FAULT = r"\b(?:silent|hidden|unwanted)[\s-]+(?:(?:cpu|host)[\s-]+)?"
_DENIED = re.compile(rf"(?:{_DENIAL}\W+(?:[\w'/-]+\s+){{0,4}}|{_NO}|{_FAULT})$", re.IGNORECASE)
_END = _any("forbidden", "banned", "removed", "gone", "not allowed", "wrong", "dishonest")
_UNDONE = re.compile(rf".{{0,40}}?\b(?:is|are|was|were)\s+(?:now\s+)?{_END}\b", re.IGNORECASE | re.DOTALL)
_OPT_IN = re.compile(
    r"\bopt(?:s|ed|ing)?[\s-]?in\b|\bgated\b|\bonly\b|\bbehind\b|\b(?:is|if) set\b", re.IGNORECASE
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_OPT_OUT = re.compile(r"\bunless\b|DISABLE|NO_|STRICT")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_MENTION = re.compile(
    r"`[^`\n]+`|\"[^\"\n]{1,200}\"|\u201c[^\u201d]{1,200}\u201d|\u00ab[^\u00bb]{1,200}\u00bb"
)
# What is written into a text and is none of its words: emphasis, links, inline tags, marks of a quoted block,
# and characters that nobody sees. An underscore within a word is a name's, an asterisk before a space is that
# of a list. Most characters begin none of it: a pattern that starts with a class is soon done with them.
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_ENTITY = "(?i:(?:shy|zwnj|#173);)"
_LINK = r"(?=[^\[\]\n]*\][(\[])"
_TAGS = _any("a", "b", "code", "em", "i", "kbd", "mark", "s", "span", "strong", "sub", "sup", "u")
_MARK = re.compile(
    rf"[{_INVISIBLE}&!\[\]<*~_](?:(?<=[{_INVISIBLE}])|(?<=&){_ENTITY}|(?<=!)\[{_LINK}|(?<=\[){_LINK}"
    rf"|(?<=\])(?:\([^()\n]*\)|\[[^\[\]\n]*\])|(?<=<)(?i:/?{_TAGS}\b[^<>\n]*>)"
    r"|(?<=[*~])[*~]*(?=[^\s*~])|(?<=[^\s*~][*~])[*~]*"
    r"|(?<=_)(?<!\w_)_*(?=[^\s_])|(?<=[^\s_]_)_*(?!\w))"
)
_QUOTED = re.compile(r"^[ \t]*>[ \t>]*", re.MULTILINE)
_UNSEEN = re.compile(rf"[{_INVISIBLE}&](?:(?<!&)|{_ENTITY})")
# A word or three between ticks or quotes are words of the sentence, as in "falls back to the `CPU` on error".
_FEW_WORDS = re.compile(r"[A-Za-z][A-Za-z'-]*(?: [A-Za-z][A-Za-z'-]*){0,2}")
_JOINER = "\u2060"
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_PARAGRAPH_END_IN_BYTES = re.compile(_PARAGRAPH_END.pattern.encode())
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d+\.|#{1,6}|\|)[ \t])")


def may_claim(text: str) -> bool:
    """Say whether a text has the words that no phrase can do without: that is soon told."""
    # Most texts hide nothing, and to look for a few characters is sooner done than to match them.
    if "&" in text or (not text.isascii() and any(map(text.__contains__, _INVISIBLE))):
        text = _UNSEEN.sub("", text)
    return _has_words(_lowered(text))


def _lowered(text: str) -> bytes:
    """Return a text in lower case as far as it is ASCII: bytes are made lower far sooner than characters."""
    return text.encode("utf-8", "replace").lower()


def _has_words(lower: bytes) -> bool:
    return any(map(lower.__contains__, _SUBJECTS)) and any(map(lower.__contains__, _ROOTS))


def forbidden_phrases(text: str) -> tuple[Phrase, ...]:
    """Return the phrases of a text that claim GPU work and hide a fallback: one a sentence, in order.

    A phrase is no claim when it is denied ("never falls back ..", "removed the .."), when the whole of it is
    quoted or code, as in a list of what may not be said, or when its paragraph says that the fallback is
    opt-in and names the variable. Code blocks are left out. Emphasis, links, and quotes or ticks around a few
    of its words are no part of a sentence; a phrase's place and text are those of the original.
    """
    if not may_claim(text):
        return ()
    plain = _MENTION.sub(_mention, _FENCE.sub(_blank, text) if "```" in text or "~~~" in text else text)
    bare, places = _without_marks(plain)
    found: list[Phrase] = []
    for start, end in _sentences(bare):
        phrase = _phrase_in(bare, start, end)
        if phrase is None:
            continue
        first, last = places.of(phrase.start), places.of(phrase.end - 1) + 1
        phrase = phrase._replace(start=first, end=last, text=" ".join(text[first:last].split()))
        if not _is_opt_in(text, phrase):
            found.append(phrase)
    return tuple(found)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences of the paragraphs that may claim something: those are few."""
    lower = _lowered(text)
    paragraphs = zip(_spans(text, _PARAGRAPH_END), _spans(lower, _PARAGRAPH_END_IN_BYTES), strict=True)
    for (start, end), (first, last) in paragraphs:
        if _has_words(lower[first:last]):
            yield from _spans(text, _SENTENCE_END, start, end)


def _without_marks(text: str) -> tuple[str, _Places]:
    """Return the words of a text as people read them, and where in it they stand."""
    marks = [match.span() for match in _MARK.finditer(text)]
    if ">" in text:
        # A mark of a quoted block is nothing but blanks before it: no other mark has a part in it.
        marks = sorted([*marks, *(match.span() for match in _QUOTED.finditer(text))])
    parts, places = [], _Places([], [])
    at = length = 0
    for start, end in (*marks, (len(text), len(text))):
        parts.append(text[at:start])
        places.starts.append(length)
        places.shifts.append(at - length)
        length += start - at
        at = end
    return "".join(parts), places


def _phrase_in(plain: str, start: int, end: int) -> Phrase | None:
    if not may_claim(plain[start:end]) or not _TELLING.search(plain, start, end):
        return None
    for form, pattern in _compiled():
        for match in pattern.finditer(plain, start, end):
            core = _CORE.search(plain, match.start(), match.end())
            at = match.start() if core is None else core.start()
            if not _DENIED.search(plain[start:at]) and not _UNDONE.match(plain, match.end(), end):
                return Phrase(match.start(), match.end(), form, match[0])
    return None


@cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compile the patterns when the first text is looked at: that takes longer than most scans look."""
    return tuple(
        (form, re.compile(one, re.IGNORECASE | re.DOTALL))
        for form, *patterns in _PATTERNS
        for one in patterns
    )


def _is_opt_in(text: str, phrase: Phrase) -> bool:
    """Say whether the paragraph around a phrase names the variable by which a user opts in."""
    for start, end in _spans(text, _PARAGRAPH_END):
        if start <= phrase.start < end:
            around = text[start:end]
            is_named = _OPT_IN.search(around) is not None and _VARIABLE.search(around) is not None
            return is_named and _OPT_OUT.search(around) is None
    return False


def _spans(
    text: AnyStr, separator: re.Pattern[AnyStr], start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int]]:
    end = len(text) if end is None else end
    for match in separator.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    yield start, end


def _mention(match: re.Match[str]) -> str:
    """Blank what is quoted or code; a few words that are no phrase by themselves are the sentence's."""
    inner = match[0][1:-1]
    if not _FEW_WORDS.fullmatch(inner):
        return _blank(match)
    if _SUBJECT.search(inner) and any(one.search(inner) for _, one in _compiled()):
        return _blank(match)
    return f"{_JOINER}{inner}{_JOINER}"


def _blank(match: re.Match[str]) -> str:
    text = match[0]
    if "\n" not in text:
        return " " * len(text)
    return "\n".join([" " * len(line) for line in text.split("\n")])
