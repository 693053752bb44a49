"""What a scan could see: only that can close a site."""

from __future__ import annotations

from dataclasses import dataclass

from audit.scanner.report import FileStatus, RuleStatus, ScanReport

_READ_WHOLE = frozenset({FileStatus.SCANNED, FileStatus.UNCHANGED})


@dataclass(frozen=True, slots=True)
class Coverage:
    """The files a scan read whole, all the files it knows of, and the rules that ran."""

    files_read: frozenset[str]
    files_known: frozenset[str]
    folders_not_entered: tuple[str, ...]
    rules_run: frozenset[str]

    @classmethod
    def of(cls, report: ScanReport) -> Coverage:
        """Take the coverage from a report's manifests."""
        return cls(
            files_read=frozenset(entry.path for entry in report.manifest if entry.status in _READ_WHOLE),
            files_known=frozenset(entry.path for entry in report.manifest),
            folders_not_entered=tuple(
                f"{entry.path}/"
                for entry in report.manifest
                if entry.status not in _READ_WHOLE and not entry.path.endswith(".rs")
            ),
            rules_run=frozenset(run.rule_id for run in report.rule_runs if run.status is RuleStatus.RAN),
        )

    def could_see(self, *, rule_id: str, path: str) -> bool:
        """Whether a result of the rule in the file would be in the report if it were in the code."""
        return rule_id in self.rules_run and self.could_read(path=path)

    def could_read(self, *, path: str) -> bool:
        """Whether the scan knows all that the file holds.

        A file that the scan read whole was seen; so was one that is no longer in the tree, if the scan read
        anything at all and did not pass by the folder it was in.
        """
        if not self.files_read:
            return False
        if path in self.files_known:
            return path in self.files_read
        return not path.startswith(self.folders_not_entered)
