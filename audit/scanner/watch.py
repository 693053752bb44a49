"""Scanning a folder again and again, as its files change, until somebody interrupts it.

Each scan has what the last one carried. Changes are found by asking for the stamps of all that was listed:
that needs nothing installed, and works on every file system.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from audit.rules import RULES
from audit.scanner.baseline import (
    DOUBTFUL,
    Baseline,
    baseline_of_report,
    compare,
    earlier_results,
)
from audit.scanner.carried import Carried
from audit.scanner.complaints import complain, complain_of_defect
from audit.scanner.errors import ScanError
from audit.scanner.output.change import Change, change_lines
from audit.scanner.output.source_text import paths_shown, read_texts
from audit.scanner.output.style import style_for, visible
from audit.scanner.output.text import text_lines
from audit.scanner.output.writing import write_stdout
from audit.scanner.report import ManifestEntry, ScanReport
from audit.scanner.scanning import Scanning
from audit.scanner.source.opening import open_folder
from audit.scanner.source.seen import Seen, Stamps

# How long a change may go unnoticed, and how large a part of a processor's time looking for one may take.
_LOOK_EVERY_S = 0.1
_MOST_LOOKING = 0.02
# A burst of saves is over when so long nothing was written; one that goes on is not waited for longer.
_QUIET_S = 0.05
_MOST_WAITED_S = 2.0
_IDLE_LOOKS = 10


def watch(scanning: Scanning) -> int:
    """Scan, and scan again at each change; return when nobody reads any more."""
    watching = _Watching(scanning)
    try:
        watching.first()
        while True:
            watching.again(noticed=watching.wait())
    except _NobodyReadsError:
        return 0


class _NobodyReadsError(Exception):
    """The reader of standard output is gone."""


class _Watching:
    """The state between two scans.

    `_stand` is what stands: the results of the last scan, and those before it that it could not see.
    """

    def __init__(self, scanning: Scanning) -> None:
        self._scanning = scanning
        self._path = scanning.options.path
        profile = Path(scanning.options.profile)
        self._seen = Seen(*([profile.absolute()] if profile.is_file() else ()))
        self._carried = Carried()
        self._source = open_folder(self._path, self._seen)
        self._files: Stamps = {}
        self._report: ScanReport | None = None
        self._stand = Baseline((), frozenset())
        self._complaint = ""

    def first(self) -> None:
        """Scan and show everything."""
        report = self._scanning.scan(self._source, earlier=self._scanning.earlier, carried=self._carried)
        self._show_whole(report)
        if self._scanning.options.jobs > 1 or not self._carried.is_filled:
            # What other processes found out, or nobody because the report was kept, is worked out for the
            # next scan while somebody reads.
            self._scanning.scan(self._source, carried=self._carried, is_kept=False)
        self._write([f"\nWatching {visible(self._path)}; Ctrl-C ends it."])
        gc.collect()
        # Most of it stays: it need not be walked again.
        gc.freeze()

    def wait(self) -> float:
        """Return when something has changed and no more is being written, and say when it was noticed."""
        looks = 0
        while not self._has_changed():
            looks += 1
            if looks == _IDLE_LOOKS:
                gc.collect()
        noticed, stamps = time.monotonic(), self._seen.stamps()
        while time.monotonic() - noticed < _MOST_WAITED_S:
            time.sleep(_QUIET_S)
            before, stamps = stamps, self._seen.stamps()
            if stamps == before:
                break
        return noticed

    def _has_changed(self) -> bool:
        started = time.process_time()
        if self._source.has_changed():
            return True
        time.sleep(max(_LOOK_EVERY_S, (time.process_time() - started) / _MOST_LOOKING))
        return False

    def again(self, *, noticed: float) -> None:
        """Scan again and tell what has changed; what is wrong with the tree is said once."""
        try:
            self._scan_again(noticed)
        except ScanError as error:
            if str(error) != self._complaint:
                complain(f"{error} Still watching.")
            self._complaint = str(error)
            time.sleep(_LOOK_EVERY_S)
        except _NobodyReadsError:
            raise
        except Exception as error:
            # What such a scan leaves may be half of it.
            self._carried = Carried()
            complain_of_defect(error)

    def _scan_again(self, noticed: float) -> None:
        self._source = source = open_folder(self._path, self._seen)
        source.entries()
        if self._seen.files == self._files and not self._complaint:
            return
        earlier = self._scanning.earlier or earlier_results(self._stand)
        report = self._scanning.scan(source, earlier=earlier, carried=self._carried, is_kept=False)
        if self._report is None or self._stand.paths.isdisjoint(entry.path for entry in report.manifest):
            self._show_whole(report)
        else:
            self._show(self._change(report, self._report, noticed))
        self._complaint = ""

    def _change(self, report: ScanReport, before: ScanReport, noticed: float) -> Change:
        baseline = self._scanning.baseline
        comparison = compare(report, self._stand)
        against = compare(report, baseline) if baseline is not None else None
        return Change(
            at=datetime.now(),
            seconds=time.monotonic() - noticed,
            files=self._changed_files(),
            broken=sorted(_doubtful(report) - _doubtful(before), key=lambda entry: entry.path),
            report=report,
            comparison=comparison,
            against_baseline=against,
            has_new_profile=report.profile_hash != before.profile_hash,
        )

    def _changed_files(self) -> list[str]:
        now, before = self._seen.files, self._files
        root = f"{self._source.root}/"
        return sorted(path.removeprefix(root) for path in now | before if now.get(path) != before.get(path))

    def _show_whole(self, report: ScanReport) -> None:
        baseline = self._scanning.baseline
        comparison = compare(report, baseline) if baseline is not None else None
        texts = read_texts(self._source, report, paths_shown(report.results))
        self._write(text_lines(report, RULES, texts, style_for(sys.stdout), comparison))
        self._take(report, baseline_of_report(report))

    def _show(self, change: Change) -> None:
        texts = read_texts(self._source, change.report, paths_shown(one.result for one in change.shown))
        self._write(change_lines(change, RULES, texts, style_for(sys.stdout)))
        stand = baseline_of_report(change.report)
        unseen = tuple(one.result for one in change.comparison.unseen)
        # Of a file that was whole once it is known what it held.
        unread = {path: why for path, why in stand.unread.items() if path in self._stand.unread}
        self._take(change.report, replace(stand, results=stand.results + unseen, unread=unread))

    def _take(self, report: ScanReport, stand: Baseline) -> None:
        self._report, self._stand, self._files = report, stand, self._seen.files

    def _write(self, lines: Iterable[str]) -> None:
        if not write_stdout(lines):
            raise _NobodyReadsError


def _doubtful(report: ScanReport) -> set[ManifestEntry]:
    return {entry for entry in report.manifest if entry.status in DOUBTFUL}
