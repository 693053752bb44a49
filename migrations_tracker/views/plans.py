"""The plan's pages: board, list, people, schedules, and its files."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from audit.models import Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import Absence, Person, Plan
from migrations_tracker.models.plan import PHASE_LABELS, UNIT_STATUS_LABELS
from migrations_tracker.plan_forms import AbsenceForm, OwnUnitForm, PersonForm
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.units import Phase
from migrations_tracker.selectors import plan_board
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.plan_problem import demanded_skills
from migrations_tracker.selectors.plan_text import CONTENT_TYPES, plan_text
from migrations_tracker.selectors.schedule_detail import next_units
from migrations_tracker.services.plan_people import absence_add, absence_remove, person_set
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.work_units import unit_add

UNPROCESSABLE = 422
MAY_PLAN = "migrations_tracker.change_workunit"


def plan_of(slug: str) -> Plan:
    """Return the plan of a repository, or no page."""
    return get_object_or_404(
        Plan.objects.select_related("repository", "scan_run__commit"), repository__slug=slug
    )


@login_required
@require_GET
def plan_index(request: SignedInRequest) -> HttpResponse:
    """Go to the plan of the repository that was scanned last, or say how one comes about."""
    choice = branch_choose(user=request.user, repository=request.GET.get("repository", ""), branch="")
    if choice.repository is not None and Plan.objects.filter(repository=choice.repository).exists():
        return redirect("plan-board", choice.repository.slug)
    return render(request, "plan_index.html", {"choice": choice})


@login_required
@require_GET
def plan_page(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the plan's board, or where it is proposed."""
    try:
        plan = plan_of(slug)
    except Http404:
        repository = get_object_or_404(Repository, slug=slug)
        return redirect(f"{reverse('plan-list')}?repository={repository.slug}")
    filters = plan_board.filters_read(request.GET)
    return render(request, "plan_board.html", _context(plan, filters) | {"own_form": OwnUnitForm()})


@login_required
@require_GET
@vary_on_headers("HX-Request")
def plan_units(request: SignedInRequest, slug: str) -> HttpResponse:
    """List the plan's units, narrowed as the URL says."""
    plan = plan_of(slug)
    filters = plan_board.filters_read(request.GET)
    context = {
        "plan": plan,
        "filters": filters,
        "list": plan_board.unit_list(plan=plan, filters=filters, cursor=request.GET.get("page", "")),
        "phases": [(str(phase.value), label) for phase, label in PHASE_LABELS.items()],
        "statuses": [(status.value, label) for status, label in UNIT_STATUS_LABELS.items()],
    }
    template = "plan_units.html#results" if request.htmx and not request.htmx.boosted else "plan_units.html"
    return render(request, template, context)


@login_required
@require_GET
def plan_missing(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the open sites and gaps that are in no unit."""
    plan = plan_of(slug)
    sites = plan_board.missing_sites(repository=plan.repository)
    gaps = plan_board.missing_gaps(repository=plan.repository)
    shown = plan_board.MISSING_SHOWN
    context = {
        "plan": plan,
        "sites": sites.select_related("site")[:shown],
        "site_total": sites.count(),
        "gaps": gaps.select_related("repository")[:shown],
        "gap_total": gaps.count(),
    }
    return render(request, "plan_missing.html", context)


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def plan_renew(request: SignedInRequest, slug: str) -> HttpResponse:
    """Hold a repository's plan to its newest scan."""
    repository = get_object_or_404(Repository, slug=slug)
    try:
        done = plan_propose(repository=repository, actor=request.user)
    except PlanError as error:
        messages.error(request, str(error))
        return redirect("plan-list")
    count = len(done.changes)
    messages.success(
        request, f"{count} changes to the plan." if count else "The plan is as the newest scan has it."
    )
    return redirect(done.plan)


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def plan_unit_add(request: SignedInRequest, slug: str) -> HttpResponse:
    """Add a unit of one's own."""
    plan = plan_of(slug)
    form = OwnUnitForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            unit = unit_add(
                plan=plan,
                title=data["title"],
                reason=data["reason"],
                phase=Phase(data["phase"]),
                category=FixCategory(data["category"]),
                hours=(data["low"], data["likely"], data["high"]),
                skills=data["skills"],
                actor=request.user,
            )
        except PlanError as error:
            form.add_error(None, str(error))
        else:
            return redirect(unit)
    context = _context(plan, plan_board.UnitFilters()) | {"own_form": form}
    return render(request, "plan_board.html", context, status=UNPROCESSABLE)


@login_required
@require_http_methods(["GET", "POST"])
def plan_people(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show who works on the plan, and add or change somebody."""
    plan = plan_of(slug)
    if request.method == "POST":
        return _person_set(request, plan)
    chosen = Person.objects.filter(plan=plan, name=request.GET.get("edit", "")).first()
    return _people(request, plan, PersonForm(initial=_initial(chosen)), AbsenceForm(plan=plan))


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def absence_create(request: SignedInRequest, slug: str) -> HttpResponse:
    """Say that somebody is away."""
    plan = plan_of(slug)
    form = AbsenceForm(request.POST, plan=plan)
    if form.is_valid():
        data = form.cleaned_data
        try:
            absence_add(
                person=data["person"],
                starts_at=data["starts_at"],
                ends_at=data["ends_at"],
                reason=data["reason"],
                actor=request.user,
            )
        except PlanError as error:
            form.add_error("ends_at", str(error))
        else:
            return redirect("plan-people", slug)
    return _people(request, plan, PersonForm(), form, status=UNPROCESSABLE)


@login_required
@permission_required(MAY_PLAN, raise_exception=True)
@require_POST
def absence_delete(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take an absence back."""
    absence = get_object_or_404(Absence.objects.select_related("person__plan__repository"), pk=pk)
    slug = absence.person.plan.repository.slug
    absence_remove(absence=absence, actor=request.user)
    return redirect("plan-people", slug)


@login_required
@require_GET
def plan_person(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Show what somebody does next."""
    plan = plan_of(slug)
    person = get_object_or_404(Person.objects.prefetch_related("absences"), plan=plan, name=key)
    context = {"plan": plan, "person": person, "placed": next_units(plan=plan, person=key)}
    return render(request, "plan_person.html", context)


@login_required
@require_GET
def plan_export(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Give the plan as a file."""
    plan = plan_of(slug)
    if key not in CONTENT_TYPES:
        raise Http404
    text = plan_text(plan=plan, form=key, host=request.get_host().split(":")[0])
    response = HttpResponse(text, content_type=CONTENT_TYPES[key])
    response["Content-Disposition"] = f'attachment; filename="plan-{slug}.{key}"'
    return response


def _context(plan: Plan, filters: plan_board.UnitFilters) -> dict[str, object]:
    return {
        "plan": plan,
        "filters": filters,
        "board": plan_board.board(plan=plan, filters=filters),
        "statuses": [(status.value, label) for status, label in UNIT_STATUS_LABELS.items()],
        "formats": list(CONTENT_TYPES),
    }


@permission_required(MAY_PLAN, raise_exception=True)
def _person_set(request: SignedInRequest, plan: Plan) -> HttpResponse:
    form = PersonForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            person_set(
                plan=plan,
                name=data["name"],
                skills=data["skills"],
                capacity=data["capacity"],
                time_zone=data["time_zone"],
                hours=form.hours(),
                is_active=data["is_active"],
                actor=request.user,
            )
        except PlanError as error:
            form.add_error(None, str(error))
        else:
            return redirect("plan-people", plan.repository.slug)
    return _people(request, plan, form, AbsenceForm(plan=plan), status=UNPROCESSABLE)


def _people(
    request: SignedInRequest, plan: Plan, form: PersonForm, absence_form: AbsenceForm, status: int = 200
) -> HttpResponse:
    context = {
        "plan": plan,
        "people": Person.objects.filter(plan=plan).prefetch_related("absences"),
        "skills": demanded_skills(plan=plan),
        "form": form,
        "absence_form": absence_form,
    }
    return render(request, "plan_people.html", context, status=status)


def _initial(person: Person | None) -> dict[str, object]:
    if person is None:
        return {}
    first = person.hours[0] if person.hours else [0, 540, 1020]
    return {
        "name": person.name,
        "skills": " ".join(person.skills),
        "capacity": person.capacity,
        "time_zone": person.time_zone,
        "days": sorted({window[0] for window in person.hours}),
        "from_time": f"{first[1] // 60:02}:{first[1] % 60:02}",
        "to_time": f"{min(first[2], 1439) // 60:02}:{min(first[2], 1439) % 60:02}",
        "is_active": person.is_active,
    }
