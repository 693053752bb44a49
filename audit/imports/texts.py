"""What prose names: places in the code, functions, commits, and the subjects that rules look for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.imports.rows import Place

MAX_PLACES = 200
MAX_NAMES = 60
_LINES = r"\d{1,6}(?:\s*[-–—]\s*L?\d{1,6})?"
_PLACE = re.compile(
    r"(?P<path>(?:[\w.@+-]+/)*(?:\{[\w,]+\}|[\w.+-]+)\.(?:rs|toml|cu|cuh|wgsl|metal|ptx|py|md|ya?ml|json))\b"
    rf"(?::(?P<lines>{_LINES}(?:\s*,\s*{_LINES})*)(?::\d+)?"
    rf"|#L(?P<anchor>{_LINES})"
    rf"|`?[^\n`|;]{{0,40}}?\blines?\s+(?P<spelled>{_LINES}(?:\s*(?:,|and)\s*{_LINES})*))?"
)
_BLOB = re.compile(r"https?://\S+?/(?:blob|tree)/[0-9a-f]{7,40}/")
_RANGE = re.compile(r"(\d+)(?:\s*[-–—]\s*L?(\d+))?")
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"^(?:[A-Za-z_]\w*(?:<[^>]*>)?::)*([A-Za-z_*][\w*]{2,})(?:!|\(.*\))?$")
_COMMIT = re.compile(r"\bcommit\b[^0-9a-f\n]{0,12}([0-9a-f]{7,40})\b", re.IGNORECASE)
_DEVICE = re.compile(
    r"\b(?:gpu|gpus|cuda|ptx|mps|metal|xpu|cubecl|wgpu|rocm|kernels?|device|vram|cublas|inductor\w*)\b|gpu_",
    re.IGNORECASE,
)
_SUBJECTS: tuple[tuple[str, str], ...] = (
    (
        "FT001",
        (
            r"silent\w*\W+(?:\w+\W+){0,4}(?:fall|cpu|host|degrad|detour)|cpu[ -]fall-?(?:back|through)|"
            r"(?:falls?|falling|fell)[ -]?(?:back|through)\W+(?:\w+\W+){0,3}(?:cpu|host|interpreter)|"
            r"swallow\w*"
        ),
    ),
    ("FT002", r"fake[- ]gpu"),
    ("FT003", r"lying|success stub|todo!|unimplemented!|hard-?codes?\b|silent zero"),
    ("FT004", r"cfg-gated|feature (?:flag )?(?:is|body is) (?:declared|empty)|`[\w-]+` feature is declared"),
    ("FT005", r"no gpu (?:kernel|path)|cpu-only|reference implementation|always (?:falls back|cpu|do cpu)"),
    ("FT006", r"dispatch-only|cpu interpreter|interpreterbackend|discard\w* via"),
    ("FT007", r"backward\W+(?:\w+\W+){0,8}(?:cpu|host)|autograd cpu"),
    (
        "FT008",
        (
            r"host[- ]?read-?back|data_vec|round-?trips?|gpu_to_cpu|reads? back|device→host|dma back|"
            r"materiali[sz]ed? to cpu|cpu detours?|downloads? to (?:the )?host"
        ),
    ),
    ("FT009", r"no gpu tests?|untested on|no (?:integration )?tests? exercis\w*"),
    ("FT010", r"#\[ignore\]|empty pass\w*|conditionally no-op|skips? gpu|skipping gpu|test_\*_cpu"),
    ("FT011", r"only (?:square|contiguous|f32)|f64 ops|\*_f64"),
    ("FT012", r"eprintln!"),
    ("FT014", r"docstring|admits|comment[- ]only"),
    ("FT016", r"stringifi\w*|invalidargument|notimplementedoncuda|catch-all|structured error"),
    ("FT017", r"ptx\w*\W+(?:\w+\W+){0,4}(?:invalid|reject\w*|does not assemble)"),
)
_RULES = tuple((rule, re.compile(pattern, re.IGNORECASE)) for rule, pattern in _SUBJECTS)
_RULE_ID = re.compile(r"\bFT0(?:0[1-9]|1[0-8])\b")


def places_of(text: str) -> tuple[Place, ...]:
    """List the places a text names, each once, in order."""
    found = dict.fromkeys(_places(_BLOB.sub("", text)))
    # A file that is named with lines is not named a second time without.
    with_lines = [f"/{place.path}" for place in found if place.start]
    kept = [
        place for place in found if place.start or not any(p.endswith(f"/{place.path}") for p in with_lines)
    ]
    return tuple(kept[:MAX_PLACES])


def lines_of(text: str) -> tuple[tuple[int, int], ...]:
    """Read `12`, `12-14` or `12, 20-24`."""
    return tuple(_ranges(text))


def names_of(text: str) -> tuple[str, ...]:
    """List the functions, macros and types that a text writes as code, by the last part of their names."""
    names = dict.fromkeys(
        match[1]
        for code in _CODE.findall(text)
        for part in (code.split(",") if "(" not in code else [code])
        if (match := _NAME.match(part.strip())) and not part.strip().endswith((".rs", ".toml"))
    )
    return tuple(names)[:MAX_NAMES]


def subjects_of(text: str) -> tuple[str, ...]:
    """Name the rules whose subject a text speaks of; none where it does not speak of a device at all."""
    named = dict.fromkeys(_RULE_ID.findall(text))
    if _DEVICE.search(text):
        named.update(dict.fromkeys(rule for rule, pattern in _RULES if pattern.search(text)))
    return tuple(named)


def commit_of(text: str) -> str:
    """Return the first commit that a text says it speaks of, or nothing."""
    match = _COMMIT.search(text)
    return match[1] if match else ""


def _places(text: str) -> Iterator[Place]:
    for match in _PLACE.finditer(text):
        lines = match["lines"] or match["anchor"] or match["spelled"] or ""
        for path in _braces(match["path"]):
            ranges = tuple(_ranges(lines)) or ((0, 0),)
            for start, end in ranges:
                yield Place(path, start, end)


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for match in _RANGE.finditer(text):
        start, end = int(match[1]), int(match[2] or match[1])
        if 0 < start <= end < 10**6:
            yield start, end


def _braces(path: str) -> Iterator[str]:
    match = re.search(r"\{([\w,]+)\}", path)
    if match is None:
        yield path
        return
    for word in match[1].split(","):
        yield f"{path[: match.start()]}{word}{path[match.end() :]}"
