"""A workspace of another project than ferrotorch, scanned under a profile of its own."""

from __future__ import annotations

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import parse_profile
from audit.scanner.source.memory import MemorySource

MANIFEST = '[package]\nname = "mine"\n[features]\ndefault = ["cuda"]\ncuda = []\n'


def results_in(
    source: str, *, words: str = "", base: str = "candle", **others: str
) -> list[tuple[str, str, str]]:
    """Return rule, path and function of each result; `words` add to the profile `base`."""
    files = {"Cargo.toml": MANIFEST, "src/lib.rs": source, **others}
    profile = parse_profile(f'name = "mine"\nextends = "{base}"\n{words}', "mine.toml")
    report = scan(
        MemorySource({path: text.encode() for path, text in files.items()}), profile=profile, rules=RULES
    )
    names = {rule.id: rule.name for rule in RULES}
    return [(names[one.rule_id], one.path, one.symbol.rpartition("::")[2]) for one in report.results]


def rules_in(source: str, **options: str) -> list[str]:
    """Return the rules of the results, but for missing tests."""
    return [rule for rule, _, _ in results_in(source, **options) if rule != "missing-gpu-test"]
