"""The overview, and repositories."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from audit.errors import AuditError
from audit.models import AskedBy, Branch, Repository, ScanRequest, ScanRun
from audit.scanner.errors import ScanError
from audit.selectors.held_drops import held_count
from audit.services.repositories import repository_add
from migrations_tracker.charts import chart_of
from migrations_tracker.errors import PlanError
from migrations_tracker.forms import RepositoryAddForm, RepositorySettingsForm, ScanForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.selectors import overview
from migrations_tracker.selectors.dashboard import dashboard
from migrations_tracker.selectors.schedules import last_follow, schedule_of
from migrations_tracker.selectors.standings import repositories_seen_by
from migrations_tracker.services.pushes import push_close, push_secret, push_secret_renew
from migrations_tracker.services.repository_settings import repository_configure
from migrations_tracker.services.scans import follow_ask, scan_ask

UNPROCESSABLE = 422


@login_required
@require_GET
def overview_page(request: SignedInRequest) -> HttpResponse:
    """Show the repositories, what is open in them, and the newest scans."""
    cards = overview.repository_cards(repositories=repositories_seen_by(request.user))
    repositories = [card.repository for card in cards]
    context = {
        "cards": cards,
        "open_total": sum(card.counts.total for card in cards),
        "statuses": overview.status_counts(repositories=repositories),
        "scans": overview.recent_scans(repositories=repositories),
    }
    return render(request, "overview.html", context)


@login_required
@permission_required("audit.add_repository", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def repository_create(request: SignedInRequest) -> HttpResponse:
    """Add a repository and ask for its first scan."""
    form = RepositoryAddForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = UNPROCESSABLE if request.method == "POST" else 200
        return render(request, "repository_add.html", {"form": form}, status=status)
    data = form.cleaned_data
    try:
        repository = repository_add(location=data["location"], name=data["name"], actor=request.user)
    except AuditError as error:
        form.add_error("location", str(error))
        return render(request, "repository_add.html", {"form": form}, status=UNPROCESSABLE)
    try:
        return redirect(_scan_asked(request, repository, data["revision"]))
    except (AuditError, ScanError) as error:
        messages.error(request, f"{repository.name} was added, but not scanned. {error}")
        return redirect(repository)


@login_required
@require_GET
def repository_detail(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show a repository, what is open on its default branch, and its scans."""
    repository = get_object_or_404(Repository, slug=slug)
    return _repository_page(request, repository, ScanForm())


@login_required
@require_GET
def repository_dashboard(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show a repository at a glance."""
    repository = get_object_or_404(Repository, slug=slug)
    data = dashboard(repository=repository)
    context = {
        "repository": repository,
        "data": data,
        "chart": chart_of(data.counts) if data is not None else None,
        "is_kept_fresh": request.GET.get("fresh") == "1",
    }
    return render(request, "repository_dashboard.html", context)


@login_required
@require_POST
def repository_scan(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask for a scan."""
    repository = get_object_or_404(Repository, slug=slug)
    form = ScanForm(request.POST)
    if form.is_valid():
        try:
            revision = form.cleaned_data["revision"]
            return redirect(_scan_asked(request, repository, revision))
        except (AuditError, ScanError) as error:
            form.add_error("revision", str(error))
    return _repository_page(request, repository, form, status=UNPROCESSABLE)


@login_required
@require_POST
def repository_follow(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask for the scans of what is new on the branches that are followed."""
    repository = get_object_or_404(Repository, slug=slug)
    return redirect(follow_ask(repository=repository, actor=request.user, asked_by=AskedBy.PERSON))


@login_required
@permission_required("audit.change_repository", raise_exception=True)
@require_http_methods(["GET", "HEAD", "POST"])
def repository_settings(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show and set how a repository is scanned."""
    repository = get_object_or_404(Repository, slug=slug)
    now = {
        "profile": repository.profile,
        "followed_branches": "\n".join(repository.followed_branches),
        "schedule": repository.schedule,
        "credentials": repository.credentials,
    }
    form = RepositorySettingsForm(request.POST if request.method == "POST" else None, initial=now)
    status = 200
    if request.method == "POST":
        status = UNPROCESSABLE
        if form.is_valid() and _configured(repository, form):
            messages.success(request, "Saved.")
            return redirect(repository)
    context = {
        "repository": repository,
        "form": form,
        "zone": settings.TIME_ZONE,
        "push_address": request.build_absolute_uri(reverse("api-push", args=[repository.slug])),
        "push_secret": push_secret(repository=repository) if repository.listens_to_pushes else "",
    }
    response = render(request, "repository_settings.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


@login_required
@permission_required("audit.change_repository", raise_exception=True)
@require_POST
def repository_pushes(request: SignedInRequest, slug: str) -> HttpResponse:
    """Open a repository's push address, give it a new secret, or close it."""
    repository = get_object_or_404(Repository, slug=slug)
    if request.POST.get("do") == "close":
        push_close(repository=repository)
    else:
        push_secret_renew(repository=repository)
    return redirect("repository-settings", repository.slug)


def _configured(repository: Repository, form: RepositorySettingsForm) -> bool:
    data = form.cleaned_data
    try:
        repository_configure(
            repository=repository,
            profile=data["profile"],
            followed_branches=data["followed_branches"].replace(",", "\n").splitlines(),
            schedule=data["schedule"],
            credentials=data["credentials"],
        )
    except (AuditError, PlanError) as error:
        form.add_error(None, str(error))
        return False
    return True


def _scan_asked(request: SignedInRequest, repository: Repository, revision: str) -> ScanRun | ScanRequest:
    """Ask for a scan without reading a folder, which may be the whole disk, while a browser waits."""
    return scan_ask(repository=repository, revision=revision, actor=request.user, may_read_folder=False)


def _repository_page(
    request: SignedInRequest, repository: Repository, form: ScanForm, status: int = 200
) -> HttpResponse:
    branches = list(Branch.objects.filter(repository=repository).select_related("last_scan__commit"))
    branch = next((b for b in branches if b.name == repository.default_branch), None)
    context = {
        "repository": repository,
        "form": form,
        "branch": branch,
        "branches": branches,
        "statuses": overview.status_counts(repositories=[repository]),
        "breakdown": overview.branch_breakdown(branch=branch) if branch else None,
        "scans": overview.recent_scans(repositories=[repository], count=30),
        "schedule": schedule_of(repository=repository),
        "last_follow": last_follow(repository=repository),
        "held_count": held_count(repository=repository),
    }
    return render(request, "repository_detail.html", context, status=status)
