"""Find three patterns with the scanner's own extraction: `python -m benchmarks.three_patterns FOLDER`.

`Err(_) =>` arms, `todo!` and `.cpu()?`, for `benchmarks/scan.py` to compare with semgrep and ast-grep. It
reads the folder, extracts all facts in one process and prints one word for each match.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

from audit.scanner.extract import extract
from audit.scanner.extract.facts import CallKind, RegionKind
from audit.scanner.source.base import Content
from audit.scanner.source.opening import open_source


def matches(data: bytes) -> Iterator[str]:
    """Yield the name of each pattern that matches, once for each place."""
    facts = extract(data)
    for function in facts.functions:
        for region in function.regions:
            if region.kind == RegionKind.ARM and data[region.pattern_start : region.pattern_end] == b"Err(_)":
                yield "arm"
        for call in function.calls:
            if call.name == "todo" and call.kind == CallKind.MACRO:
                yield "todo"
            is_bare = call.end - call.arguments_start == 2
            if call.name == "cpu" and call.kind == CallKind.METHOD and call.is_tried and is_bare:
                yield "cpu"


def main() -> None:
    """Print the matches in a folder."""
    gc.disable()
    source = open_source(Path(sys.argv[1]))
    files = [file for file in source.entries() if file.path.endswith(".rs") and not file.skip_reason]
    for _, content in source.read(files):
        if isinstance(content, Content):
            for name in matches(content.data):
                print(name)


if __name__ == "__main__":
    main()
