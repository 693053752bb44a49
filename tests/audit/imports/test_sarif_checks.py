"""Which logs of other tools are refused, and that the reason says why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.imports.rows import ImportFormatError
from audit.imports.sarif_checks import is_same_repository, sarif_check, tool_of


def a_result(uri: str = "src/ops.rs", line: float = 1, **more: Any) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": uri} | more.pop("artifact", {}), "region": {"startLine": line}}
    return {"ruleId": "x", "message": {"text": "x"}, "locations": [{"physicalLocation": place}], **more}


def a_log(*results: object, **run: Any) -> dict[str, Any]:
    return {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "clippy"}}, "results": list(results), **run}],
    }


def refused(log: object) -> str:
    with pytest.raises(ImportFormatError) as error:
        sarif_check(log)
    return str(error.value)


def test_a_sound_log_is_let_in_and_names_its_tool() -> None:
    log = a_log(
        a_result(partialFingerprints={"a/v1": "1"}),
        a_result(line=2, partialFingerprints={"a/v1": "2"}),
        a_result(line=3, artifact={"uriBaseId": "%SRCROOT%"}),
        originalUriBaseIds={"%SRCROOT%": {"uri": "file:///home/ci/work/"}},
    )
    sarif_check(log)
    assert tool_of(log) == "clippy"


@pytest.mark.parametrize(
    "uri",
    ["/home/x/src/ops.rs", "file:///src/ops.rs", "C:\\src\\ops.rs", "C:/a.rs", "%2Fetc/x", "\\\\host\\a.rs"],
)
def test_an_absolute_path_is_refused_with_the_result_s_number(uri: str) -> None:
    assert "Result 2 has an absolute path" in refused(a_log(a_result(), a_result(uri)))


@pytest.mark.parametrize("uri", ["../other/a.rs", "src/../../a.rs", "src\\..\\a.rs"])
def test_a_path_that_leads_out_is_refused(uri: str) -> None:
    assert "leads out of the repository" in refused(a_log(a_result(uri)))


@pytest.mark.parametrize("base", ["CARGO_HOME", "%SYSROOT%", "TOOLROOT"])
def test_another_tool_s_root_is_refused(base: str) -> None:
    message = refused(a_log(a_result(artifact={"uriBaseId": base})))
    assert f"relative to `{base}`" in message
    chained = {"SRCROOT": {"uri": "vendor/", "uriBaseId": base}}
    assert "is the folder `vendor/`" in refused(
        a_log(a_result(artifact={"uriBaseId": "SRCROOT"}), originalUriBaseIds=chained)
    )


def test_a_root_that_is_relative_to_itself_is_refused() -> None:
    bases = {"SRCROOT": {"uriBaseId": "SRCROOT"}}
    log = a_log(a_result(artifact={"uriBaseId": "SRCROOT"}), originalUriBaseIds=bases)
    assert "relative to itself" in refused(log)


@pytest.mark.parametrize("kind", ["partialFingerprints", "fingerprints"])
def test_a_fingerprint_that_tells_no_result_from_another_is_refused(kind: str) -> None:
    same: dict[str, Any] = {kind: {"hash/v1": "0000"}}
    message = refused(a_log(a_result(line=1, **same), a_result(line=2, **same)))
    assert "`hash/v1` is the same, `0000`, for all 2 results" in message
    sarif_check(a_log(a_result(line=1, **same)))
    sarif_check(a_log(a_result(line=1, **same), a_result(line=1, **same)))


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ([], "no `runs`"),
        ({"runs": []}, "version is not 2.1.0"),
        ({"version": "2.1.0", "runs": [1]}, "is no object"),
        ({"version": "2.1.0", "runs": [{"results": {"a": 1}}]}, "are no list"),
    ],
)
def test_what_is_no_log_is_refused(log: object, message: str) -> None:
    assert message in refused(log)


def test_a_run_without_a_tool_is_refused() -> None:
    with pytest.raises(ImportFormatError, match="does not name its tool"):
        tool_of({"runs": [{"tool": {"driver": {}}}]})


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://github.com/a/b", "git@github.com:a/b.git", True),
        ("ssh://git@github.com/A/b.git", "https://user@github.com/a/b/", True),
        ("https://github.com/a/b", "https://github.com/a/c", False),
        ("https://github.com/a/b", "https://gitlab.com/a/b", False),
    ],
)
def test_a_repository_is_known_however_it_is_fetched(one: str, other: str, is_same: bool) -> None:
    assert is_same_repository(one, other) is is_same


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "locations",
                    "physicalLocation",
                    "artifactLocation",
                    "uri",
                    "uriBaseId",
                    "partialFingerprints",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=3), _JSON)
def test_whatever_a_log_holds_it_is_let_in_or_refused(results: list[object], bases: object) -> None:
    try:
        sarif_check(a_log(*results, originalUriBaseIds=bases))
    except ImportFormatError as error:
        assert str(error)
