"""Say what became of known sites in later commits, and hold that against what people read there.

    python benchmarks/outcomes.py REPO --labels DIR [--base REV] [--commits a,b] [--keep DIR]

The scan of `--base` is the baseline; each commit is scanned against it. The labels folder brings
`migrated.jsonl` and its own scoring script, `evaluate.py LABELS RESULTS.sarif --outcomes COMMIT`: what it
prints is the figure, only the sum over the commits is made here.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BASE = "1af2b9cb7"
# Assembling PTX takes longer than the rest of a scan, and no label here asks for it.
RULES = "-broken-ptx"
_FIGURE = re.compile(r"(\d+) of (\d+) right")


class Score(NamedTuple):
    """What the labels' script says of one commit, and how its baseline's results ended."""

    commit: str
    right: int
    of: int
    remarks: str
    ends: collections.Counter[str]


def scan(repository: str, revision: str, output: Path, baseline: Path | None = None) -> None:
    """Write the SARIF log of a scan; exit when it fails."""
    command = [sys.executable, "-m", "audit.scanner", repository, "--rev", revision, "--format", "sarif"]
    command += ["--fail-on", "none", "--jobs", "1", f"--rules={RULES}", "--output", str(output)]
    command += ["--baseline", str(baseline)] if baseline else []
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        sys.exit(2)


def commits_of(labels: Path) -> list[str]:
    """Return the commits of `migrated.jsonl`, in the order of their first mention."""
    lines = (labels / "migrated.jsonl").read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(json.loads(line)["commit"] for line in lines if line.strip()))


def ends_of(log_path: Path) -> collections.Counter[str]:
    """Count the results by baseline state, the absent ones by outcome."""
    run = json.loads(log_path.read_text(encoding="utf-8"))["runs"][0]
    return collections.Counter(
        result.get("properties", {}).get("outcome", "no outcome")
        if result.get("baselineState") == "absent"
        else result.get("baselineState", "")
        for result in run["results"]
    )


def score(labels: Path, log_path: Path, commit: str) -> Score:
    """Ask the labels' own script."""
    done = subprocess.run(
        [sys.executable, str(labels / "evaluate.py"), str(labels), str(log_path), "--outcomes", commit],
        capture_output=True,
        text=True,
        check=False,
    )
    figure = _FIGURE.search(done.stdout)
    if done.returncode != 0 or figure is None:
        sys.exit(f"outcomes: `{labels / 'evaluate.py'}` failed:\n{done.stdout}{done.stderr}")
    remarks = "".join(line + "\n" for line in done.stdout.splitlines() if "wrong:" in line)
    return Score(commit, int(figure[1]), int(figure[2]), remarks, ends_of(log_path))


def table(scores: list[Score]) -> str:
    """Return the figures as a Markdown table: one row a commit, the sum last."""
    heads = ("unchanged", "updated", "new", "absent with outcome", "absent without")
    rows = [f"| commit | right | of | {' | '.join(heads)} |", "| --- " + "| ---: " * 7 + "|"]
    for one in scores:
        known = sum(
            number
            for end, number in one.ends.items()
            if end not in ("unchanged", "updated", "new", "no outcome")
        )
        counts = (
            one.ends["unchanged"],
            one.ends["updated"],
            one.ends["new"],
            known,
            one.ends["no outcome"],
        )
        rows.append(f"| {one.commit} | {one.right} | {one.of} | {' | '.join(map(str, counts))} |")
    right, of = sum(one.right for one in scores), sum(one.of for one in scores)
    return "\n".join([*rows, "", f"{right} of {of} right ({right / max(of, 1):.3f})"])


def main() -> None:
    """Scan, score and print."""
    parser = argparse.ArgumentParser(description="Hold the outcomes of known sites against labels.")
    parser.add_argument("repository")
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--base", default=BASE)
    parser.add_argument("--commits")
    parser.add_argument("--keep", type=Path, help="keep the SARIF logs in this folder")
    arguments = parser.parse_args()
    commits = arguments.commits.split(",") if arguments.commits else commits_of(arguments.labels)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        baseline = folder / "baseline.sarif"
        scan(arguments.repository, arguments.base, baseline)
        scores = []
        for commit in commits:
            log_path = folder / f"{commit}.sarif"
            scan(arguments.repository, commit, log_path, baseline)
            scores.append(score(arguments.labels, log_path, commit))
            print(scores[-1].remarks, end="", file=sys.stderr)
    print(table(scores))


if __name__ == "__main__":
    main()
