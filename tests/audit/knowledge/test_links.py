from __future__ import annotations

from audit.knowledge.links import Link, find_links


def test_links_are_found_with_their_lines_and_not_in_code() -> None:
    text = "see [[rule:ft001]]\n`[[site:1]]`\n\n```\n[[site:2]]\n```\n[[ site : 3 | this one ]] [[nothing]]"
    assert find_links(text) == (
        Link("rule", "FT001", "", 1),
        Link("site", "3", "this one", 7),
        Link("", "nothing", "", 7),
    )


def test_an_operator_keeps_its_own_colons() -> None:
    assert find_links("[[op:aten::lgamma]]")[0].target == "aten::lgamma"
