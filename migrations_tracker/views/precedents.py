"""Rulings that are remembered: the list, one of them, those that contradict, and what people do with them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from audit.errors import AuditError
from audit.knowledge.labels import JSON_LINES, label_lines
from audit.knowledge.references import ReferenceKind
from audit.models import Commit, FallbackSite, Precedent, PrecedentKind, PullRequest, Repository, Stance
from audit.models.reference import REFERENCE_LABELS
from audit.selectors.field_precision import labels
from audit.selectors.precedents import contradictions
from audit.selectors.rules import rule_list
from audit.services.precedents import precedent_opinion_add, precedent_record
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.lifecycle import TransitionNotAllowedError
from migrations_tracker.roles import PERMISSIONS
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.form_pages import form_choices
from migrations_tracker.selectors.precedent_list import (
    NUMBERED,
    filters_read,
    precedent_list,
    reference_list,
)
from migrations_tracker.selectors.standings import repositories_seen_by, standing_of
from migrations_tracker.services.precedents import precedent_follow
from migrations_tracker.source_frames import frame_of_snippet
from migrations_tracker.typed import typed_keep

OPINIONS_SHOWN = 100
_NUMBERED_LABEL = "Issue or pull request"
_MOST_DIGITS = 9
# What is ruled by moving a site's migration is ruled there.
RULED_HERE = (PrecedentKind.CATEGORY, PrecedentKind.SEVERITY, PrecedentKind.NOT_A_SITE)


@login_required
@require_GET
def precedent_index(request: SignedInRequest) -> HttpResponse:
    """List the rulings in force, narrowed as the URL says."""
    choice = branch_choose(user=request.user, repository=request.GET.get("repository", ""), branch="")
    filters = filters_read(request.GET)
    context: dict[str, object] = {"choice": choice, "filters": filters}
    if choice.repository is not None:
        context |= {
            "page": precedent_list(
                repository=choice.repository, filters=filters, cursor=request.GET.get("page", "")
            ),
            "kinds": PrecedentKind.choices,
            "rules": rule_list(),
            "forms": form_choices(rule=filters.rule, chosen=filters.form),
        }
    return render(request, "precedent_list.html", context)


@login_required
@require_GET
def precedent_contradictions(request: SignedInRequest) -> HttpResponse:
    """List the rulings in force that contradict each other."""
    choice = branch_choose(user=request.user, repository=request.GET.get("repository", ""), branch="")
    pairs = contradictions(precedents=Precedent.objects.filter(repository=choice.repository))
    return render(request, "precedent_contradictions.html", {"choice": choice, "pairs": pairs})


@login_required
@require_GET
def precedent_detail(request: SignedInRequest, pk: int) -> HttpResponse:
    """Show a ruling with the code it was made on, and what was said of it at other sites."""
    precedent = _precedent(pk)
    context = {
        "precedent": precedent,
        "frame": frame_of_snippet(precedent.code, first_line=precedent.line) if precedent.code else None,
        "opinions": precedent.opinions.filter(
            site__repository__in=repositories_seen_by(request.user)
        ).select_related("actor", "site")[:OPINIONS_SHOWN],
    }
    return render(request, "precedent_detail.html", context)


@login_required
@require_POST
@permission_required("audit.add_precedentopinion", raise_exception=True)
def precedent_opinion(request: SignedInRequest, pk: int) -> HttpResponse:
    """Follow a precedent at another site, or differ from it."""
    precedent = _precedent(pk)
    number = request.POST.get("site", "")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise Http404("No site is named.")
    site = get_object_or_404(
        FallbackSite.objects.select_related("repository"),
        pk=int(number),
        repository__in=repositories_seen_by(request.user),
    )
    # The address names the precedent; what is ruled on is the site, which may be another repository's.
    if standing_of(request.user).role_in(site.repository_id) < PERMISSIONS["audit.add_precedentopinion"]:
        raise PermissionDenied("This needs the role lead in the site's repository.")
    reason = request.POST.get("reason", "")[:10_000]
    try:
        if request.POST.get("stance") == Stance.AGREE:
            precedent_follow(
                precedent=precedent, site=site, actor=request.user, reason=reason, seen=_seen(request)
            )
            messages.success(request, f"Ruled as precedent {precedent.pk} was.")
        else:
            precedent_opinion_add(
                precedent=precedent, site=site, stance=Stance.DIFFER, actor=request.user, reason=reason
            )
            messages.success(request, f"Kept: this site differs from precedent {precedent.pk}.")
    except (AuditError, PlanError, TransitionNotAllowedError) as error:
        messages.error(request, str(error))
    return redirect(f"{site.get_absolute_url()}#precedents")


@login_required
@require_POST
@permission_required("audit.add_precedent", raise_exception=True)
def site_ruling(request: SignedInRequest, pk: int) -> HttpResponse:
    """Rule on a site: its fix category, its severity, or that it is none."""
    site = get_object_or_404(FallbackSite.objects.select_related("repository"), pk=pk)
    kind, _, decision = request.POST.get("ruling", "").partition(":")
    try:
        if kind not in RULED_HERE:
            raise AuditError("Choose what to rule.")
        precedent_record(
            site=site,
            kind=PrecedentKind(kind),
            decision=decision,
            reason=request.POST.get("reason", ""),
            clause_id=request.POST.get("clause", "").strip()[:12],
            actor=request.user,
            seen=_seen(request),
        )
    except AuditError as error:
        typed_keep(request)
        messages.error(request, str(error))
    else:
        messages.success(request, "Ruled. It is offered where the like of this site appears.")
    return redirect(f"{site.get_absolute_url()}#precedents")


@login_required
@require_GET
def label_export(request: SignedInRequest, slug: str) -> StreamingHttpResponse:
    """Give the rulings on what is a site as lines of JSON, narrowed by `rule`, `form` and `commit`."""
    repository = get_object_or_404(Repository, slug=slug)
    rule_id, form, commit = (
        request.GET.get(name, "").replace("\0", "") for name in ("rule", "form", "commit")
    )
    rows = labels(repository=repository, rule_id=rule_id, form=form, commit=commit)
    response = StreamingHttpResponse(label_lines(rows), content_type=JSON_LINES)
    response["Content-Disposition"] = f'attachment; filename="labels-{repository.slug}.jsonl"'
    return response


@login_required
@require_GET
def reference_detail(request: SignedInRequest, slug: str, kind: str, key: str) -> HttpResponse:
    """Show which sites are named together with a pull request, an issue or a commit."""
    repository = get_object_or_404(Repository, slug=slug)
    if kind not in set(ReferenceKind) or len(key) > 40 or "\0" in key:
        raise Http404("There is no such reference.")
    cursor = request.GET.get("page", "")
    context = {
        "repository": repository,
        "label": REFERENCE_LABELS[ReferenceKind(kind)] if kind == ReferenceKind.COMMIT else _NUMBERED_LABEL,
        "pull_request": _pull_request(repository, key) if kind in NUMBERED else None,
        "is_commit": kind == ReferenceKind.COMMIT,
        "target": key,
        "page": reference_list(repository=repository, kind=kind, target=key, cursor=cursor),
        "commit": Commit.objects.filter(repository=repository, object_id=key).first(),
    }
    return render(request, "reference_detail.html", context)


def _pull_request(repository: Repository, number: str) -> PullRequest | None:
    is_number = number.isascii() and number.isdecimal() and len(number) < _MOST_DIGITS
    return PullRequest.objects.filter(repository=repository, number=number).first() if is_number else None


def _seen(request: SignedInRequest) -> int:
    """Return the newest ruling that the page showed; 0 where it showed none, or the form does not say."""
    text = request.POST.get("seen", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0


def _precedent(pk: int) -> Precedent:
    rows = Precedent.objects.select_related("repository", "site", "commit", "decided_by")
    return get_object_or_404(rows, pk=pk)
