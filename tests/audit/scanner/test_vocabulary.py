"""The policy's vocabulary: what claims GPU work and hides a fallback, and what only looks like it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.vocabulary import forbidden_phrases

CLAIMS = [
    ("It works on GPU when available, CPU otherwise.", "gpu-when-available"),
    ("2. Text encode (GPU when available for speed, CPU fallback)", "gpu-when-available"),
    ("Uses CUDA if available, or the CPU.", "gpu-when-available"),
    ("When a GPU is present it is used, otherwise the CPU.", "gpu-when-available"),
    ("Falls back to CPU on error", "falls-back-on-error"),
    ("falls back silently to the CPU if the kernel fails", "falls-back-on-error"),
    ("If no GPU is found we fall back to the host.", "falls-back-on-error"),
    ("If the kernel can't be loaded we fall back to the CPU.", "falls-back-on-error"),
    ("A CPU fallback when the driver is missing", "falls-back-on-error"),
    ("Both functions have CPU-fallback paths when PTX compilation fails.", "falls-back-on-error"),
    ("GPU acceleration with automatic CPU fallback", "automatic-fallback"),
    ("gracefully falls\nback to the CPU", "automatic-fallback"),
    ("falls back to the CPU transparently", "automatic-fallback"),
    ("Best-effort GPU support", "best-effort-support"),
    ("CUDA acceleration is best effort", "best-effort-support"),
    ("Falls back to the CPU on error unless NO_GPU_FALLBACK is set, opt-in.", "falls-back-on-error"),
]

MARKED_CLAIMS = [
    ("falls **back** silently to the CPU if the kernel fails", "falls-back-on-error"),
    ("Falls back to the `CPU` on error", "falls-back-on-error"),
    ('It "gracefully" falls back to the CPU.', "automatic-fallback"),
    (
        "[Best-effort](https://example.org/an/address/that/fills/a/window) GPU support",
        "best-effort-support",
    ),
    ("Best-effort [GPU support][1]", "best-effort-support"),
    ("> It gracefully falls\n> back to the CPU.", "automatic-fallback"),
    ("automa\u00adtic C\u00adPU fall\u200bback", "automatic-fallback"),
    ("Works on GPU when avail&shy;able, <em>CPU</em> otherwise", "gpu-when-available"),
    ("- **Best-effort** ~~GPU~~ __support__", "best-effort-support"),
]

NO_CLAIMS = [
    "It **never** falls back to the CPU on error.",
    'Forbidden:\n- `automatic CPU fallback`\n- "best-effort GPU support"\n- `falls back to CPU on error`\n',
    "*Silent* CPU fallback when the allocation on the GPU fails: the caller is told nothing.",
    "* Falls back\n* to the CPU on error",
    "Implemented X on GPU; returns `Err(GpuError::Unsupported)` when GPU not available",
    "Implemented X on GPU; opt-in CPU fallback gated by `FERROTORCH_ENABLE_GPU_FALLBACK`, logs a warning",
    "Removed silent CPU fallback in X; now returns an error",
    "It never falls back to the CPU on error.",
    "There is no automatic CPU fallback.",
    "Returns an error rather than falling back to the CPU when the kernel fails.",
    'Nobody writes "falls back to CPU on error" here.',
    "Nobody writes `falls back to CPU on error` here.",
    "An automatic CPU fallback is forbidden.",
    "The CPU-fallback path is removed when the kernel is missing.",
    "```\nfalls back to CPU on error\n```",
    "Best effort cleanup of temporary files.",
    "Silent CPU fallback when the allocation on the GPU fails: the caller is told nothing.",
    "The tag falls back to the name if it is missing.",
    "Peer copies fall back to a host-staged copy when peer access is unavailable.",
    "Only with GPU_FALLBACK=1 set the operator\nfalls back to the CPU on error, behind a warning.",
    "",
]


@pytest.mark.parametrize(("text", "form"), [*CLAIMS, *MARKED_CLAIMS])
def test_a_claim_is_found_with_its_form(text: str, form: str) -> None:
    assert [phrase.form for phrase in forbidden_phrases(text)] == [form]


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_an_honest_sentence_is_left_alone(text: str) -> None:
    assert forbidden_phrases(text) == ()


def test_naming_the_variable_in_another_paragraph_does_not_make_a_claim_honest() -> None:
    text = "Falls back to CPU on error.\n\nOpt-in is by GPU_FALLBACK elsewhere."
    assert len(forbidden_phrases(text)) == 1


def test_every_sentence_with_a_claim_is_told_in_order() -> None:
    text = "Best-effort GPU support. Fine.\n- falls back to CPU on error\n- automatic CPU fallback\n"
    assert [phrase.form for phrase in forbidden_phrases(text)] == [
        "best-effort-support",
        "falls-back-on-error",
        "automatic-fallback",
    ]


CLAIM_WORDS = [
    "falls back",
    "to the CPU",
    "on error",
    "if",
    "available",
    "otherwise",
    "best-effort GPU support",
]
MARKS = ["never", ".", "\n", "\n\n", "`", '"', "```"]
WORDS = st.sampled_from([*CLAIM_WORDS, *MARKS])


@given(st.lists(WORDS).map(" ".join) | st.text())
def test_a_phrase_lies_in_its_text_and_says_what_stands_there(text: str) -> None:
    for phrase in forbidden_phrases(text):
        assert 0 <= phrase.start < phrase.end <= len(text)
        assert phrase.text == " ".join(text[phrase.start : phrase.end].split())


PARAGRAPHS = st.lists(st.sampled_from([*CLAIM_WORDS, "never", ".", "\n", "\n- ", "é", "`CPU`"])).map(" ".join)


@given(st.lists(PARAGRAPHS, max_size=4))
def test_a_paragraph_says_what_it_says_alone(paragraphs: list[str]) -> None:
    text, found = "", []
    for paragraph in paragraphs:
        before = len(text)
        found += [
            one._replace(start=before + one.start, end=before + one.end)
            for one in forbidden_phrases(paragraph)
        ]
        text += f"{paragraph}\n\n"
    assert forbidden_phrases(text) == tuple(found)


EMPHASIS = st.sampled_from(["", "*", "**", "***", "_", "__", "~~", "<b>"])


@given(st.sampled_from(CLAIMS), st.data())
def test_emphasis_at_the_bounds_of_words_hides_no_phrase(claim: tuple[str, str], data: st.DataObject) -> None:
    words = [part for part in re.split(r"(\s+)", claim[0]) if part]
    decorated = ""
    for word in words:
        mark = "" if word.isspace() else data.draw(EMPHASIS)
        decorated += f"{mark}{word}{mark.replace('<', '</')}"
    (plain,), (phrase,) = forbidden_phrases(claim[0]), forbidden_phrases(decorated)
    assert phrase.form == plain.form
    bare = re.sub(r"</?b>|[*~]|(?<!\w)_+|_+(?!\w)", "", phrase.text)
    assert bare == plain.text
    assert decorated[phrase.start :].startswith(phrase.text.split()[0])


def test_a_phrase_is_told_where_it_stands_among_marks_of_all_kinds() -> None:
    text = (
        "> See [the ![logo](l.png)](site) &shy;first.\n"
        "> > <B class=x>Falls</B> ba\u00adck to **[the CPU][doc]** _on_ ~~error~~.\n"
    )
    (phrase,) = forbidden_phrases(text)
    assert text[phrase.start : phrase.end].startswith("Falls</B> ba")
    assert text[phrase.start : phrase.end].endswith("_on_ ~~error")
