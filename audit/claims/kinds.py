"""The kinds of claims, and the words that each is told by."""

from __future__ import annotations

import re
from enum import StrEnum


class ClaimKind(StrEnum):
    """What a sentence says was done."""

    COUNTED = "counted"
    ON_DEVICE = "on-device"
    NO_FALLBACK = "no-fallback"
    AUTO_ROUTED = "auto-routed"
    REFUSED = "refused"
    COVERAGE = "coverage"


KIND_LABELS = {
    ClaimKind.COUNTED: "So many sites were dealt with",
    ClaimKind.ON_DEVICE: "Computed on the device",
    ClaimKind.NO_FALLBACK: "No fallback or round trip left",
    ClaimKind.AUTO_ROUTED: "Routed to the device by itself",
    ClaimKind.REFUSED: "Refused with an error, or opt-in",
    ClaimKind.COVERAGE: "All of something is on the device",
}

# Raises the version under which claims are stored: a change of these words reads every message again.
WORDS_VERSION = 2

_FLAGS = re.IGNORECASE
DEVICE = r"(?:gpu|cuda|ptx|device|vram|cusparse(?:lt)?|cusolver|cufft|cublas|metal|xpu|nccl)"
# What makes a message one of this subject at all.
SUBJECT = re.compile(
    rf"\b{DEVICE}\b|\bhost\b|fall-?\s?backs?\b|detours?\b|round-?trips?\b|\bkernels?\b|§\s?3|opt-in", _FLAGS
)
# A message that is about sites that are migrated is one of this subject too.
SUBJECT_LINE = re.compile(
    rf"{SUBJECT.pattern}|\bmigrat\w*\b[^.;:]{{0,40}}?\bsites?\b|"
    r"\bsites?\s+(?:(?:was|were|are|now|all)\s+)*migrat",
    _FLAGS,
)
_DONE = r"(?:migrat|convert|replac|eliminat|remov|fix|clos|clear|retir|gat|port|mov|rewir|turn)\w*"
_COUNTABLE = (
    r"(?:call )?(?:sites?|fallbacks?|fall-backs|detours?|round-?trips?|stubs?|readbacks?|downloads?|"
    r"violations?)"
)
_MIDDLE = r"(?:(?!\b\d)[^.;:]){0,60}?"
# Not part of a version, a path with its line, an issue's or a section's number.
_NUMBER = r"(?<![\w.:#§-])(?<!§ )~?(?P<count>\d{1,5})"
COUNTS = (
    re.compile(
        rf"\b{_DONE}\b{_MIDDLE}{_NUMBER}\s+(?P<what>(?:[\w/→>§-]+\s+){{0,3}}?){_COUNTABLE}\b",
        _FLAGS,
    ),
    re.compile(
        rf"{_NUMBER}\s+(?P<what>(?:[\w/→>§-]+\s+){{0,3}}?){_COUNTABLE}\s+"
        rf"(?:(?:was|were|are|now|all)\s+)*{_DONE}\b",
        _FLAGS,
    ),
)
# Sites of something else: what may crash, what a lint found, who calls.
OTHER_SITES = re.compile(
    r"panic|crash|unwrap|cast|expect|lint|clippy|tests?\b|docs?\b|safety|caller|setter|literal|print|"
    r"error enum|deprecated|allow|rustdoc|numcast|t::from",
    _FLAGS,
)

_DOES = (
    r"(?:add(?:s|ed)?|implement(?:s|ed)?|wir(?:e|es|ed)|land(?:s|ed)?|new|native|introduc\w+|port(?:s|ed)?|"
    r"writ\w+|rewr\w+|ship(?:s|ped)?|provid\w+|now|real|fused?|hand-written|feat\b[^:]*:|"
    r"perf\b[^:]*:|fix\b[^:]*:)"
)
PATTERNS: tuple[tuple[ClaimKind, re.Pattern[str]], ...] = (
    (
        ClaimKind.AUTO_ROUTED,
        re.compile(
            r"\b(?:auto-?\s?(?:rout|dispatch)|(?:transparently|automatically)\s+(?:rout|dispatch))\w*",
            _FLAGS,
        ),
    ),
    (
        ClaimKind.COVERAGE,
        re.compile(
            rf"\b(?:all|every|each|100\s?%(?:\s+of)?)\s+(?:[\w/-]+\s+){{0,4}}?"
            rf"(?:ops?|operations?|operators?|kernels|paths?|lanes|optimizers|methods|backwards?|passes)\s+"
            rf"(?:[\w-]+\s+){{0,3}}?(?:on|to|for|via)\s+(?:the\s+)?{DEVICE}\b",
            _FLAGS,
        ),
    ),
    (
        ClaimKind.NO_FALLBACK,
        re.compile(
            r"\b(?:no|zero|without(?:\s+(?:a|any))?|never)\s+(?:more\s+)?"
            r"(?:(?:silent|cpu|host|gpu|d2h|device|data_vec\(\)|per-call|implicit)[\s→>-]*)*"
            r"(?:fall-?\s?backs?|round-?trips?|detours?|readbacks?|downloads?)\b"
            r"|\b(?:(?:eliminat|remov|avoid|kill)\w*|drop(?:s|ped|ping)?)\b[^.;]{0,60}?"
            r"\b(?:(?:cpu|host|silent|gpu|d2h)[\s→>-]*)+(?:[\w-]+\s+)?"
            r"(?:fall-?\s?backs?|round-?trips?|detours?|readbacks?|downloads?)\b",
            _FLAGS,
        ),
    ),
    (
        ClaimKind.REFUSED,
        re.compile(
            rf"\bopt-in\b[^.;]{{0,30}}\b(?:cpu|host)?\s?fall-?\s?backs?\b|"
            rf"\bnow\s+(?:returns?|raises?|rejects?|errors?)\b[^.;]{{0,80}}\b{DEVICE}\b|"
            rf"\b{DEVICE}\b[^.;]{{0,60}}\bnow\s+(?:returns?|raises?|rejects?|errors?)\b[^.;]{{0,30}}"
            r"(?:\berr(?:or)?s?\b|\w+Error\b|NotImplemented\w*)|"
            r"\b(?:structured|explicit|typed)\s+error\b[^.;]{0,60}\b(?:gpu|cuda|device)\b|"
            r"\breturns?\s+(?:an?\s+)?`?(?:\w+::)?NotImplementedOnCuda\b",
            _FLAGS,
        ),
    ),
    (
        ClaimKind.ON_DEVICE,
        re.compile(
            rf"\b{DEVICE}[\s-](?:native|resident)\b|"
            rf"\b(?:runs?|stays?|works?|comput\w+|lives?|implement\w*|entirely|fully|composes?|execut\w+)\b"
            rf"[^.;]{{0,40}}\bon(?:\s+the|-)?\s?(?:gpu|device)\b|"
            rf"\b{_DOES}[^.;]{{0,60}}?\b{DEVICE}\s+(?:[\w/-]+\s+){{0,3}}?"
            rf"(?:kernels?|forward|backward|fast[ -]path|path|dispatch)\b|"
            rf"\b{_DOES}[^.;]{{0,60}}?\b(?:gpu|cuda)\s+via\s+cu\w+|"
            rf"^(?:feat|perf|fix)!?:\s[^.;]{{0,80}}?\b{DEVICE}\b[^.;]{{0,40}}\b"
            rf"(?:kernels?|forward|backward|fast[ -]path|dispatch|via cu\w+)\b|"
            rf"^{DEVICE}\s+kernels?\s+for\b|"
            rf"\b(?:rout|dispatch)(?:es|ed|ing|e)?\b[^.;]{{0,40}}\b(?:to|through|via)\s+(?:the\s+)?{DEVICE}\b|"
            rf"\b(?:fully|entirely|end-to-end)\s+(?:on\s+(?:the\s+)?)?{DEVICE}\b",
            _FLAGS,
        ),
    ),
)
# What is not said to be done: planned, missing, how it was before, or what a test or a tool does.
NOT_DONE = re.compile(
    r"\b(?:pending|deferred|must|already|remain(?:s|ing)|follow-?ups?|would|should|will|todo|blocked?|"
    r"not yet|previously|formerly|used to|was stale|stale|unblocks?|missing|lacks?|lacking|cannot|can't|"
    r"need\w*|unimplemented|proposed?|plan(?:ned)?|scaffold|umbrella|filed|opened|tracked|todo|no gpu|"
    r"no cuda|still|surfac\w+|"
    r"if\b.{0,40}\bfails?|claimed|achievable|doesn't|does not|don't|isn't|aren't|wasn't|gap)\b",
    re.IGNORECASE,
)
NOT_CODE = re.compile(
    r"\b(?:tests?|probe\w*|conformance|assert\w*|fixtures?|clippy|cargo|benchmarks?|harness|docs?|docstring|"
    r"readme|changelog|sabotage|smoke|timings?|panics|debug impls?|render|verif(?:y|ies|ied)|verdict|"
    r"evidence|issue)\b|#\[",
    re.IGNORECASE,
)
