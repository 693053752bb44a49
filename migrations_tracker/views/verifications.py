"""Verifications: what tests proved on GPUs, what is asked for, and what waits."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRefresh

from audit.errors import AuditError
from audit.models import FallbackSite, Repository
from audit.selectors.policy import clauses_of_verdict
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.verification_detail import verification_page
from migrations_tracker.services.nightly_verifications import nightly_set
from migrations_tracker.services.verifications import verification_ask as ask
from migrations_tracker.typed import typed_keep
from workers.errors import MachineryError
from workers.models import (
    NightlyVerification,
    RequestTarget,
    Verification,
    VerificationJob,
    VerificationRequest,
)
from workers.selectors.runners import gpu_minutes_budget, gpu_minutes_used
from workers.selectors.verifications import filters_read, verification_list, verified_crates
from workers.services.gpu_budget import why_it_waits
from workers.services.jobs import job_approve, job_cancel
from workers.verdict_texts import VERDICT_TEXTS

APPROVE = "workers.change_verificationjob"
EVENTS_SHOWN = 50


@login_required
@require_GET
@vary_on_headers("HX-Request")
def verification_index(request: SignedInRequest) -> HttpResponse:
    """List the newest verification of each test, narrowed as the URL says."""
    query = request.GET
    choice = branch_choose(user=request.user, repository=query.get("repository", ""), branch="")
    filters = filters_read(query)
    context: dict[str, object] = {"choice": choice, "filters": filters}
    if choice.repository is not None:
        context |= {
            "page": verification_list(
                repository=choice.repository, filters=filters, page=query.get("page", "")
            ),
            "crates": verified_crates(repository=choice.repository),
            "verdicts": [(verdict.value, text.label) for verdict, text in VERDICT_TEXTS.items()],
            "waiting": VerificationJob.objects.filter(
                repository=choice.repository, finished_at=None
            ).select_related("runner", "commit")[:20],
        }
    is_fragment = request.htmx and not request.htmx.boosted
    template = "verification_list.html#results" if is_fragment else "verification_list.html"
    return render(request, template, context)


@login_required
@require_POST
def verification_ask(request: SignedInRequest) -> HttpResponse:
    """Ask for a verification of a site, an operation, a function, a crate or a commit."""
    data = request.POST
    repository = get_object_or_404(Repository, slug=data.get("repository", ""))
    site_id = data.get("site", "")
    site = get_object_or_404(FallbackSite, pk=site_id, repository=repository) if site_id.isdecimal() else None
    if data.get("target", "") not in RequestTarget.values:
        raise Http404("There is no such target.")
    try:
        wish = ask(
            repository=repository,
            target=RequestTarget(data["target"]),
            text=data.get("text", ""),
            revision=data.get("revision", ""),
            site=site,
            actor=request.user,
        )
    except (MachineryError, AuditError) as error:
        typed_keep(request)
        messages.error(request, str(error))
        back = data.get("back", "")
        is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
        return redirect(back if is_ours and back.startswith("/") else repository.get_absolute_url())
    return redirect(wish)


@login_required
@require_http_methods(["GET", "POST"])
def nightly(request: SignedInRequest) -> HttpResponse:
    """Show and set whether a repository's device tests run each day, and the budget of GPU minutes."""
    slug = request.POST.get("repository", "") or request.GET.get("repository", "")
    repository = get_object_or_404(Repository, slug=slug)
    if request.method == "POST":
        if not request.user.has_perm("audit.change_repository"):
            raise PermissionDenied("Only who may change repositories sets their schedule.")
        hour = request.POST.get("hour", "")
        try:
            nightly_set(
                repository=repository,
                is_on=request.POST.get("is_on") == "on",
                hour=int(hour) if hour.isdecimal() and len(hour) < 3 else -1,
                is_after_scans=request.POST.get("is_after_scans") == "on",
            )
        except MachineryError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, "The schedule is kept.")
        return redirect(f"{reverse('verification-nightly')}?repository={repository.slug}")
    context = {
        "repository": repository,
        "nightly": NightlyVerification.objects.filter(repository=repository).first(),
        "gpu_minutes": gpu_minutes_used(),
        "gpu_budget": gpu_minutes_budget(),
    }
    return render(request, "verification_nightly.html", context)


@login_required
@require_GET
def verification_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show what one test showed: verdict, picture, table and log."""
    verification = get_object_or_404(
        Verification.objects.select_related("repository", "commit", "job__runner", "job__bundle"), pk=pk
    )
    context = {
        "page": verification_page(verification=verification),
        "clauses": clauses_of_verdict(verdict=verification.verdict),
    }
    return render(request, "verification_detail.html", context)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def job_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a job: who has it, how far it is, and how it ended."""
    job = get_object_or_404(
        VerificationJob.objects.select_related(
            "repository",
            "commit",
            "runner",
            "bundle",
            "request",
            "requested_by",
            "approved_by",
            "cancelled_by",
            "continues",
            "continued_by",
        ),
        pk=pk,
    )
    context: dict[str, object] = {"job": job, "waits_because": why_it_waits(job=job)}
    if request.htmx:
        if job.is_over or job.waits_for_approval:
            return HttpResponseClientRefresh()
        return render(request, "verification_job_detail.html#progress", context)
    context |= {
        "verifications": job.verifications.defer("evidence").order_by("position"),
        "ptx_loads": job.ptx_loads.all(),
        "events": job.events.select_related("runner", "actor").order_by("-id")[:EVENTS_SHOWN],
        "can_approve": request.user.has_perm(APPROVE),
        "can_cancel": _may_cancel(request, job),
    }
    return render(request, "verification_job_detail.html", context)


@login_required
@require_POST
def job_act(request: SignedInRequest, pk: int) -> HttpResponse:
    """Approve a job that waits for a person, or cancel one."""
    job = get_object_or_404(VerificationJob, pk=pk)
    act = request.POST.get("act", "")
    try:
        if act == "approve":
            if not request.user.has_perm(APPROVE):
                raise PermissionDenied(
                    "Only who may change verification jobs approves the code of strangers."
                )
            job_approve(job=job, actor=request.user)
        elif act == "cancel":
            if not _may_cancel(request, job):
                raise PermissionDenied("Only who asked for a job, or may change jobs, cancels it.")
            job_cancel(job=job, actor=request.user)
        else:
            raise Http404("There is no such act.")
    except MachineryError as error:
        messages.info(request, str(error))
    return redirect(job)


@login_required
@require_GET
@vary_on_headers("HX-Request")
def request_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a wish: the tests that reach its target, and the jobs that were made of them."""
    wish = get_object_or_404(
        VerificationRequest.objects.select_related("repository", "commit", "site", "requested_by"), pk=pk
    )
    context: dict[str, object] = {"wish": wish}
    if request.htmx:
        if wish.is_over:
            return HttpResponseClientRefresh()
        return render(request, "verification_request_detail.html#progress", context)
    context["jobs"] = wish.jobs.select_related("runner").order_by("pk")
    return render(request, "verification_request_detail.html", context)


def _may_cancel(request: SignedInRequest, job: VerificationJob) -> bool:
    return job.requested_by_id == request.user.pk or request.user.has_perm(APPROVE)
