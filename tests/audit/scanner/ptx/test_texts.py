"""The PTX texts that functions make of others, by whatever name they are called."""

from __future__ import annotations

import pytest

from audit.scanner.link.resolve import Resolver
from audit.scanner.ptx.texts import PtxTexts
from tests.audit.scanner.workspace_fixture import linked

MAKER = """
    pub const BASE: &str = ".version 7.0\\n.target sm_52\\n.visible .entry add() { ret; }";
    pub fn wider(ptx: &str) -> String { ptx.replace("sm_52", "sm_90") }
    pub fn count(ptx: &str) -> usize { ptx.len() }
"""


@pytest.mark.parametrize(
    ("caller", "count"),
    [
        ("fn made() -> String { crate::maker::wider(BASE) }", 1),
        ("use crate::maker::wider;\nfn made() -> String { wider(BASE) }", 1),
        ("fn made() -> usize { crate::maker::count(BASE) }", 0),
        ('fn made() -> String { crate::maker::wider("text") }', 0),
        ("#[cfg(test)]\nmod tests { fn made() -> String { crate::maker::wider(BASE) } }", 0),
    ],
)
def test_a_text_is_derived_where_a_maker_of_strings_is_given_a_kernel(caller: str, count: int) -> None:
    workspace = linked({"src/maker.rs": MAKER, "src/lib.rs": f"mod maker;\n{caller}"})
    found = [one for one in PtxTexts(workspace, Resolver(workspace), {}).all if one.form == "derived"]
    assert len(found) == count
    assert all(".target sm_90" in one.text for one in found)
