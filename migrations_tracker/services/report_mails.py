"""Sending a scheduled report to one person."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db import OperationalError

from audit.errors import LeaseLostError
from audit.models import RowState
from audit.models.lease import MAX_ATTEMPTS
from audit.services.leases import lease_claim, lease_finish, lease_return
from migrations_tracker.models import MigrationReport, ReportMail
from migrations_tracker.notice_texts import absolute
from migrations_tracker.report_formats import FORMATS, document_of, file_name, written
from migrations_tracker.roles import Role
from migrations_tracker.selectors.standings import standing_of

LEASE = timedelta(minutes=5)
AGAIN_AFTER = timedelta(minutes=5)
#: Mail servers refuse what is larger; the link is in the mail anyhow.
ATTACHED_AT_MOST = 15_000_000


def report_mail_execute(*, pk: int) -> bool:
    """Send a mail that waits. Returns whether this call sent it."""
    lease_id = lease_claim(model=ReportMail, pk=pk, lease=LEASE)
    if lease_id is None:
        return False
    mail = ReportMail.objects.select_related(
        "recipient", "scheduled__schedule__branch__repository", "scheduled__schedule__made_by"
    ).get(pk=pk)
    try:
        reason = _send(mail)
        state = RowState.FAILED if reason else RowState.SUCCEEDED
        lease_finish(row=mail, lease_id=lease_id, state=state, reason=reason)
        return not reason
    except LeaseLostError:
        return False
    except OperationalError:
        # The database is away: the lease brings the mail back.
        raise
    except (SMTPException, OSError) as error:
        said = str(error) or type(error).__name__
        if mail.attempts < MAX_ATTEMPTS:
            lease_return(row=mail, lease_id=lease_id, reason=said, wait=AGAIN_AFTER)
        else:
            lease_finish(row=mail, lease_id=lease_id, state=RowState.FAILED, reason=said)
        return False


def _send(mail: ReportMail) -> str:
    """Send a mail, or return why it is not sent."""
    schedule, person = mail.scheduled.schedule, mail.recipient
    repository = schedule.branch.repository
    if schedule.ended_at is not None:
        return "The schedule has ended."
    if not person.is_active or standing_of(person).role_in(repository.pk) < Role.READER:
        return "The recipient may not read the repository any more."
    related = ("branch__repository", "scan_run__repository", "scan_run__commit", "scan_run__branch")
    report = MigrationReport.objects.select_related(*related, "since_scan__commit").get(
        pk=mail.scheduled.report_id
    )
    period = mail.scheduled.period_key
    message = EmailMessage(
        " ".join(f"{repository.name}: migration report of {period}".split()),
        f"The migration report of {repository.name}, branch {schedule.branch.name}, for {period}:\n"
        f"{absolute(report.get_absolute_url())}\n\n"
        f"--\nA schedule of {schedule.made_by} sends it: {absolute('/reports/schedules/')}\n",
        to=[person.email],
        # The same mail has the same name, so that a mail program shows one that came twice once.
        headers={"Message-ID": f"<{_token(mail)}@ferroaudit>", "Auto-Submitted": "auto-generated"},
    )
    _attach(message, report, schedule.formats)
    message.send()
    return ""


def _attach(message: EmailMessage, report: MigrationReport, formats: list[str]) -> None:
    document, total = document_of(report), 0
    for key in formats:
        content = written(FORMATS[key], report, document)
        total += len(content)
        if total > ATTACHED_AT_MOST:
            message.body += "\nNot every format fits into a mail: the page has all of them.\n"
            return
        message.attach(file_name(report, key), content, FORMATS[key].media_type.partition(";")[0])


def _token(mail: ReportMail) -> str:
    return hashlib.sha256(f"report mail {mail.pk}".encode()).hexdigest()[:32]
