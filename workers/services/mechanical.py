"""Asking for mechanical reports, and writing them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError

from audit.errors import AuditError, LeaseLostError
from audit.models import Commit, Repository, RowState
from audit.scanner.cache import DirectoryCache
from audit.scanner.errors import ScanError
from audit.scanner.proof.markdown import as_markdown
from audit.scanner.proof.mechanical import MechanicalReport as Report
from audit.scanner.proof.mechanical import as_document, report_changes, report_function
from audit.services.leases import lease_claim, lease_finish, lease_kept
from audit.services.scanning import source_of
from workers.errors import MachineryError
from workers.models import MechanicalReport
from workers.selectors.verifications import last_words


def mechanical_report_create(
    *,
    repository: Repository,
    commit: Commit,
    symbol: str = "",
    since: Commit | None = None,
    actor: User | None,
) -> MechanicalReport:
    """Ask for a report on a function, or on what changed since a commit."""
    symbol = symbol.replace("\0", "").strip()
    if bool(symbol) == (since is not None):
        raise MachineryError("Name either a function, or the commit since which changes count.")
    if since is not None and since.pk == commit.pk:
        raise MachineryError("Nothing changed between a commit and itself.")
    return MechanicalReport.objects.create(
        repository=repository, commit=commit, since=since, symbol=symbol, requested_by=actor
    )


def mechanical_report_execute(*, pk: int) -> bool:
    """Write a report that waits. Returns whether this call wrote it."""
    lease_id = lease_claim(model=MechanicalReport, pk=pk)
    if lease_id is None:
        return False
    row = MechanicalReport.objects.select_related("repository", "commit", "since").get(pk=pk)
    try:
        with lease_kept(row=row, lease_id=lease_id):
            report = _report(row)
        if not report.functions and row.symbol:
            raise MachineryError(f"The commit has no function `{row.symbol}`.")
        lease_finish(
            row=row,
            lease_id=lease_id,
            state=RowState.SUCCEEDED,
            is_done=report.is_done,
            # A file is not always UTF-8, and JSON in the database holds no half characters.
            document=json.loads(json.dumps(as_document(report)).replace("\\u0000", "")),
            markdown=as_markdown(report).replace("\0", ""),
        )
    except LeaseLostError:
        return False
    except OperationalError:
        raise
    except (AuditError, ScanError, MachineryError) as error:
        with suppress(LeaseLostError):
            lease_finish(row=row, lease_id=lease_id, state=RowState.FAILED, reason=str(error))
        return False
    except Exception as error:
        reason = f"Writing the report broke down: {type(error).__name__}: {error}"
        with suppress(LeaseLostError):
            lease_finish(row=row, lease_id=lease_id, state=RowState.FAILED, reason=reason)
        raise
    return True


def _report(row: MechanicalReport) -> Report:
    cache = DirectoryCache(Path(settings.SCAN_CACHE_DIR))
    source, profile = source_of(repository=row.repository, commit=row.commit)
    words = last_words(repository=row.repository, commit=row.commit)
    if row.since is None:
        return report_function(
            source, row.symbol, profile=profile, cache=cache, words=words, commit=row.commit.short_id
        )
    before, _ = source_of(repository=row.repository, commit=row.since)
    return report_changes(
        before,
        source,
        profile=profile,
        cache=cache,
        words=words,
        commit=row.commit.short_id,
        since=row.since.short_id,
    )
