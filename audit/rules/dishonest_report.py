"""FT018: dishonest-report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.comments import CommentBlock, blocks_of, function_at
from audit.scanner.link.unit import Fn, Unit
from audit.scanner.report import Level
from audit.scanner.vocabulary import Phrase, forbidden_phrases, may_claim

# Every forbidden phrase has one of these words.
_SUBJECTS = (b"cpu", b"host", b"effort")
_COMMENT_MARK = re.compile(r"^[ \t]*(?:///?(?!/)|//!|/\*[*!]?|\*(?!/))", re.MULTILINE)


class DishonestReport(Rule):
    """
    ## What it does
    Checks for phrases in comments, documentation and Markdown files that claim GPU work and hide that the CPU
    does it: "works on GPU when available, CPU otherwise", "falls back to CPU on error", "automatic CPU
    fallback", "best-effort GPU support".

    ## Why is this bad?
    A reader can't tell from such a sentence where the work runs, and it makes a silent fallback look like a
    feature. PyTorch's documentation names the one fallback there is, and the variable that switches it on
    (`PYTORCH_ENABLE_MPS_FALLBACK=1`).

    ## Use instead
    Say what happens: "Implemented on GPU; returns `Err(GpuError::..)` when no GPU is there", or "opt-in CPU
    fallback gated by `FERROTORCH_ENABLE_GPU_FALLBACK`, logs `tracing::warn!` per fallback".

    ## Known problems
    Only English is read. A claim that is true of the code beside it is reported all the same: the sentence
    is held against the policy, the code is the other rules' matter. What a sentence denies, quotes or shows
    as code is left out, and so is a paragraph that says "opt-in" and names the variable.
    """

    id = "FT018"
    name = "dishonest-report"
    level = Level.WARNING
    message = "claims GPU work and hides a fallback"
    invalid = (
        Example(
            "when available, otherwise",
            """
            //! Every operator works on GPU when available, CPU otherwise.  //~ FT018

            /// Runs on CUDA if it is available, else on the CPU.  //~ FT018
            pub fn sin() {}
            """,
        ),
        Example(
            "falls back on error",
            """
            /// Compiles the graph. Falls back to the CPU on error.  //~ FT018
            pub fn compile() {}

            // If the kernel can't be loaded we fall back to the host.  //~ FT018
            pub fn load() {}

            /// If the build fails (another architecture), falls back to drawing  //~ FT018
            /// numbers on the CPU.
            pub fn draw() {}
            """,
        ),
        Example(
            "automatic fallback",
            """
            /// GPU acceleration with automatic CPU fallback.  //~ FT018
            pub struct Linear;
            """,
        ),
        Example(
            "best effort",
            """
            /*
             * Best-effort GPU support for sparse layouts.  //~ FT018
             */
            pub struct Sparse;
            """,
        ),
        Example(
            "over two lines, in an inner comment",
            """
            pub fn add() {
                // The device path comes first, and gracefully  //~ FT018
                // falls back to the CPU.
            }
            """,
        ),
        Example(
            "opt-out is no opt-in",
            """
            /// Falls back to the CPU on error unless `GPU_STRICT` is set.  //~ FT018
            pub fn mul() {}
            """,
        ),
    )
    valid = (
        Example(
            "the policy's vocabulary",
            """
            //! Implemented on GPU; returns `Err(GpuError::DeviceUnavailable)` when no GPU is available.
            pub fn sin() {}
            """,
        ),
        Example(
            "opt-in that names the variable",
            """
            /// Opt-in CPU fallback gated by `FERROTORCH_ENABLE_GPU_FALLBACK`: falls back to the CPU on error,
            /// and logs a warning.
            pub fn sin() {}
            """,
        ),
        Example(
            "denied",
            """
            /// Never falls back to the CPU on error.
            pub fn sin() {}

            // Removed the automatic CPU fallback; it returns an error now.
            pub fn cos() {}

            // Returns an error instead of falling back to the CPU when the kernel fails.
            pub fn tan() {}
            """,
        ),
        Example(
            "quoted",
            """
            // Reports may not say "falls back to CPU on error".
            pub fn check() {}
            """,
        ),
        Example(
            "switch that somebody sets",
            """
            pub struct Options {
                /// Whether to fall back to the CPU if the GPU fails.
                pub fallback: bool,
            }
            """,
        ),
        Example(
            "about something else",
            """
            // Teardown is best effort. Names fall back to the file's stem if the tag is missing.
            pub fn close() {}

            // If the rate is missing, falls back to counting frames (on any device, the CPU too).
            pub fn count() {}

            // Peer copies fall back to a host-staged copy when peer access is unavailable.
            pub fn copy() {}
            """,
        ),
        Example(
            "code and strings",
            """
            pub fn warn() {
                tracing::warn!("falls back to CPU on error");
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the phrases of comments and of the tree's documents."""
        for unit in judgement.workspace.units.values():
            for block, text, phrase in unit.told_once(_phrases_of_comments, _phrases_of_comments):
                function = function_at(judgement.functions_of(unit), block)
                yield _candidate(unit, block.start, text, phrase, function=function)
        for document in judgement.documents:
            for phrase in document.told_once(_phrases_of_document, _phrases_of_document):
                text = document.text(0, len(document.data))
                yield _candidate(document, 0, text, phrase, item=document.path)


def _phrases_of_comments(unit: Unit) -> Sequence[tuple[CommentBlock, str, Phrase]]:
    """Return the phrases of a file's comments, with the block and its text without the marks."""
    return [
        (block, text, phrase)
        for block in blocks_of(unit, _SUBJECTS)
        if may_claim(unit.text(block.start, block.end))
        for text in [_COMMENT_MARK.sub(_blank, unit.text(block.start, block.end))]
        for phrase in forbidden_phrases(text)
    ]


def _phrases_of_document(document: Unit) -> tuple[Phrase, ...]:
    return _phrases_in(document.data)


@lru_cache(maxsize=4096)
def _phrases_in(data: bytes) -> tuple[Phrase, ...]:
    # A document stays the same over many commits, and a repository may hold hundreds.
    return forbidden_phrases(data.decode("utf-8", "replace"))


def _candidate(
    unit: Unit, offset: int, text: str, phrase: Phrase, *, function: Fn | None = None, item: str = ""
) -> Candidate:
    start = offset + len(text[: phrase.start].encode())
    end = start + len(text[phrase.start : phrase.end].encode())
    message = f"says \u201c{phrase.text}\u201d"
    return Candidate(unit, start, end, function, phrase.form, message=message, item=item)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
