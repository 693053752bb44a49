"""What a pull request's description says, without what its template says."""

from __future__ import annotations

import re

_NOT_TOLD = re.compile(r"<!--.*?(?:-->|\Z)|^\s*[-*+] \[ \][^\n]*$", re.DOTALL | re.MULTILINE)


def told_by(description: str) -> str:
    """Leave out of a description what an HTML comment says, and what is still to be done.

    Lines keep their numbers.
    """
    return _NOT_TOLD.sub(lambda left_out: "\n" * left_out[0].count("\n"), description)
