"""What a pull request is made of: where it left its base, and the commits since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audit.scanner.errors import ScanError
from audit.scanner.source.git_command import run_git
from audit.scanner.source.git_repository import (
    Repository,
    find_repository,
    is_git_dir,
    repository_of_git_dir,
    resolve_commit,
)

COMMITS_READ = 500


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A commit and what it says."""

    commit_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Range:
    """A change: `start` is the commit that base and head have in common, or base where they have none."""

    repository: Repository
    start: str
    head: str

    def messages(self) -> Iterator[CommitMessage]:
        """Yield the commits of the change with their messages, newest first."""
        answer = run_git(
            f"--git-dir={self.repository.git_dir}",
            "log",
            "--no-show-signature",
            f"--max-count={COMMITS_READ}",
            "--format=%x01%H%x00%B",
            "--end-of-options",
            f"{self.start}..{self.head}",
        )
        for record in answer.output.decode(errors="backslashreplace").split("\1")[1:]:
            commit_id, _, text = record.partition("\0")
            yield CommitMessage(commit_id, text)


def find_range(path: Path, base: str, head: str) -> Range:
    """Find the commits that two revisions name, and where the second left the first."""
    repository = repository_of_git_dir(path) if is_git_dir(path) else find_repository(path.absolute())
    if repository is None:
        raise ScanError(f"{path} is no git repository, and lies in none.")
    base_id = resolve_commit(repository, base).commit_id
    head_id = resolve_commit(repository, head).commit_id
    common = run_git(f"--git-dir={repository.git_dir}", "merge-base", base_id, head_id)
    return Range(repository, common.text if common.succeeded and common.text else base_id, head_id)
