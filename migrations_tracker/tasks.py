"""The tasks of workers: each claims its row first, so one that is sent twice changes nothing."""

from __future__ import annotations

from celery import shared_task

from audit.models import AskedBy, Repository, ScanRun
from audit.services import (
    claims,
    extraction,
    pull_requests,
    rederiving,
    scan_requests,
    scan_runs,
    scanning,
)
from migrations_tracker.services import (
    bulk_changes,
    deliveries,
    matches,
    migration_reports,
    nightly_verifications,
    notices,
    plan_proposals,
    report_mails,
    report_schedules,
    scans,
    schedules,
    search,
    suppression_days,
)
from migrations_tracker.services import verification_follow_up as verified
from migrations_tracker.services.follow_up import gaps_follow_up, scan_run_follow_up
from migrations_tracker.services.repository_settings import FOLLOW_TASK
from workers.services import jobs, mechanical, reports, requests


@shared_task(name=scans.SCAN_REQUEST_TASK)
def scan_request_execute(pk: int) -> None:
    """Fetch a repository and ask for the scans that were wished for."""
    for scan_run in scan_requests.scan_request_execute(pk=pk):
        scans.row_wake(row=scan_run)


@shared_task(name=FOLLOW_TASK)
def scan_follow(repository_id: int) -> None:
    """Ask for the scans of what is new in a repository, because its hour has come."""
    repository = Repository.objects.filter(pk=repository_id).first()
    if repository is not None:
        scans.follow_ask(repository=repository, actor=None, asked_by=AskedBy.SCHEDULE)


@shared_task(name=scans.SCAN_RUN_TASK)
def scan_run_execute(pk: int) -> None:
    """Run a scan and store what it found."""
    if scan_runs.scan_run_execute(pk=pk, after_ingest=scan_run_follow_up, tell=scans.chunks_tell):
        plan_proposals.plan_follow(scan_run_id=pk)
        search.search_refresh(kinds=("site", "unit"))


@shared_task(name=scans.SCAN_CHUNK_TASK)
def scan_chunk_execute(pk: int) -> None:
    """Parse a part of a large scan that another worker runs."""
    extraction.chunk_execute(pk=pk, open_source=scanning.files_of)


@shared_task(name=scans.PULL_REQUEST_TASK)
def scan_pull_request_check(pk: int) -> None:
    """Scan both ends of a pull request, and compare them."""
    pull_requests.pull_request_check_execute(pk=pk, after_ingest=scan_run_follow_up)


@shared_task(name="migrations_tracker.tasks.claims_read")
def claims_read() -> None:
    """Read what the commits that were scanned say was done."""
    claims.claims_read()


@shared_task(name="migrations_tracker.tasks.search_refresh")
def search_refresh() -> None:
    """Bring the search index up to date with what changed."""
    search.search_refresh()


@shared_task(name="migrations_tracker.tasks.notices_collect")
def notices_collect() -> None:
    """Notice what happened, and make the messages for those who want to be told."""
    for delivery in notices.notices_collect():
        scans.row_wake(row=delivery)


@shared_task(name=scans.DELIVERY_TASK)
def delivery_execute(pk: int) -> None:
    """Send a message."""
    deliveries.delivery_execute(pk=pk)


@shared_task(name=scans.SCHEDULE_TASK)
def schedule_execute(pk: int) -> None:
    """Look for a better schedule of a plan."""
    schedules.schedule_execute(pk=pk)


@shared_task(name=scans.BULK_TASK)
def bulk_change_execute(pk: int) -> None:
    """Work through a change of many migrations."""
    bulk_changes.bulk_change_execute(pk=pk)


@shared_task(name=scans.REPORT_TASK)
def report_execute(pk: int) -> None:
    """Write a migration report."""
    migration_reports.report_execute(pk=pk)


@shared_task(name=report_schedules.SCHEDULE_RUN_TASK)
def report_schedule_run(pk: int) -> None:
    """Have the report of the period that ended written, because its day has come."""
    report_schedules.report_schedule_run(pk=pk)


@shared_task(name="migrations_tracker.tasks.report_mails_make")
def report_mails_make() -> None:
    """Mail the scheduled reports that were written meanwhile."""
    report_schedules.report_mails_make()


@shared_task(name=scans.REPORT_MAIL_TASK)
def report_mail_execute(pk: int) -> None:
    """Send a scheduled report to one person."""
    report_mails.report_mail_execute(pk=pk)


@shared_task(name="migrations_tracker.tasks.rows_wake_lost")
def rows_wake_lost() -> None:
    """Send again what waits or lost its worker."""
    scans.rows_wake_lost()
    matches.readings_wake_lost()


@shared_task(name=matches.CAPABILITIES_TASK)
def scan_capabilities_rederive(pk: int) -> None:
    """Derive the capabilities of a scan again, after a match was corrected."""
    rederiving.capabilities_rederive(scan_run_id=pk, after=gaps_follow_up)


@shared_task(name=scans.VERIFICATION_REQUEST_TASK)
def verification_request_execute(pk: int) -> None:
    """Find the tests that a wish takes, and make jobs of them."""
    if requests.verification_request_execute(pk=pk):
        verified.dispatch_wake()


@shared_task(name=scans.MECHANICAL_REPORT_TASK)
def verification_report_execute(pk: int) -> None:
    """Write a mechanical report."""
    mechanical.mechanical_report_execute(pk=pk)


@shared_task(name=verified.EXPIRE_TASK)
def verification_expire(pk: int) -> None:
    """End proof whose code a scan saw changed."""
    scan_run = ScanRun.objects.select_related("repository", "commit").get(pk=pk)
    verified.proof_expire(scan_run=scan_run)


@shared_task(name=verified.HEAR_TASK)
def driver_answers_hear() -> None:
    """Have commits scanned again about whose PTX drivers were asked."""
    verified.driver_answers_hear()


@shared_task(name="migrations_tracker.tasks.suppressions_expire")
def suppressions_expire() -> None:
    """Open what was suppressed until a day that is over."""
    suppression_days.suppressions_expire()


@shared_task(name="migrations_tracker.tasks.verification_nightly")
def verification_nightly() -> None:
    """Ask for the device tests that are due today."""
    nightly_verifications.nightlies_ask()


@shared_task(name=verified.DISPATCH_TASK)
def verification_jobs_dispatch() -> None:
    """Give waiting verification jobs to free runners."""
    jobs.jobs_dispatch()


@shared_task(name="migrations_tracker.tasks.verification_runners_serve")
def verification_runners_serve() -> None:
    """Let runners in at the broker, take their reports, and give them jobs."""
    reports.runners_admit()
    reports.reports_collect(after=verified.verification_follow_up)
    jobs.jobs_dispatch()
