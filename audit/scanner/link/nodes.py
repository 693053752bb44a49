"""Nodes of the autograd graph: who builds them."""

from __future__ import annotations

import re

from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Fn


def is_built_for_host_only(summaries: Summaries, backward: Fn) -> bool:
    """Say whether all that build a node refuse device data: its backward never gets any.

    Asked only of a node whose type is private to its file: who else builds another one is not known.
    """
    unit, node = backward.unit, backward.self_type
    if not any(one.kind == "struct" and one.name == node and not one.visibility for one in unit.facts.items):
        return False
    named = re.compile(rb"\b" + re.escape(node).encode() + rb"\b")
    builders = [
        one
        for one in unit.functions or ()
        if one.self_type != node and named.search(unit.data, one.facts.body_start, one.facts.body_end)
    ]
    return bool(builders) and all(one.index in summaries.rejecting for one in builders)
