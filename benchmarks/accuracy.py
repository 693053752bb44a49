"""Scan a repository and hold the results against labelled sites.

    python benchmarks/accuracy.py REPO [--rev REV] [--labels DIR] [--rules a,b] [--write docs/accuracy.md]

Without `--labels` it counts results per rule and says that nothing was scored. The labels folder brings its
own scoring script, `evaluate.py LABELS RESULTS.sarif`; what it prints is the figure, none is recomputed here.
`--write` replaces the block between the `accuracy` markers of that file.
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

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"


def scan(repository: str, revision: str | None, rules: str | None, output: Path) -> None:
    """Write the SARIF log of a scan; exit with the scanner's message when it fails."""
    command = [sys.executable, "-m", "audit.scanner", repository, "--format", "sarif", "--fail-on", "none"]
    command += ["--output", str(output)]
    command += ["--rev", revision] if revision else []
    command += ["--rules", rules] if rules else []
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        sys.exit(2)


def counts(log_path: Path) -> str:
    """Return a Markdown table of results per rule."""
    run = json.loads(log_path.read_text(encoding="utf-8"))["runs"][0]
    number = collections.Counter(result["ruleId"] for result in run.get("results", []))
    rules = run["tool"]["driver"]["rules"]
    rows = [f"| {rule['id']} | `{rule['name']}` | {number[rule['id']]} |" for rule in rules]
    return "\n".join(["| rule | name | results |", "| --- | --- | ---: |", *rows])


def score(labels: Path, log_path: Path, *options: str) -> str:
    """Return what the labels' own script prints."""
    done = subprocess.run(
        [sys.executable, str(labels / "evaluate.py"), str(labels), str(log_path), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"accuracy: `{labels / 'evaluate.py'}` failed:\n{done.stderr}")
    return done.stdout.rstrip()


def replace_block(document: Path, text: str) -> None:
    """Replace what stands between the markers of a document."""
    old = document.read_text(encoding="utf-8")
    if BEGIN not in old or END not in old:
        sys.exit(f"accuracy: `{document}` has no `{BEGIN}` and `{END}`")
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    document.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", old), encoding="utf-8")


def main() -> None:
    """Run the scan and print the figures."""
    parser = argparse.ArgumentParser(description="Hold the results of a scan against labelled sites.")
    parser.add_argument("repository")
    parser.add_argument("--rev")
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--rules")
    parser.add_argument("--misses", type=Path, help="write what was missed and what was reported wrongly")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log_path = Path(folder) / "results.sarif"
        scan(arguments.repository, arguments.rev, arguments.rules, log_path)
        parts = [counts(log_path)]
        if arguments.labels is None:
            print("No labels were given (`--labels DIR`): results are counted, not judged.", file=sys.stderr)
        else:
            only = ["--only", arguments.rules] if arguments.rules else []
            misses = ["--misses", str(arguments.misses)] if arguments.misses else []
            sites = score(arguments.labels, log_path, *only, *misses)
            tests = score(arguments.labels, log_path, "--missing-tests")
            parts.append(f"```text\n{sites}\n{tests}\n```")
    text = "\n\n".join(parts)
    print(text)
    if arguments.write:
        replace_block(arguments.write, text)


if __name__ == "__main__":
    main()
