"""The capability matrix, a cell of it, and an operator."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from audit.knowledge.links import LinkKind
from audit.models import Branch, NoteSubject
from audit.parity.capability import State
from audit.parity.families import Family
from audit.selectors.audit_notes import entries_about, notes_of
from migrations_tracker.capability_texts import as_csv, as_json, as_markdown
from migrations_tracker.http import SignedInRequest
from migrations_tracker.knowledge_forms import AuditNoteForm
from migrations_tracker.selectors import backend_list, capability_absent, capability_list
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.capability_detail import cell_page, operator_page, repository_branch
from migrations_tracker.selectors.capability_list import CapabilityFilters, filters_read
from migrations_tracker.typed import typed

FAMILY_LABELS = {
    Family.ELEMENTWISE: "Elementwise",
    Family.REDUCTION: "Reduction",
    Family.LINALG: "Linear algebra",
    Family.FFT: "Fourier transforms",
    Family.NN: "Neural networks",
    Family.OPTIM: "Optimizers",
    Family.DISTRIBUTIONS: "Distributions",
    Family.RANDOM: "Random numbers",
    Family.OTHER: "Shape, indexing, creation and other",
}
_EXPORTS = {
    "csv": (as_csv, "text/csv"),
    "json": (as_json, "application/json"),
    "md": (as_markdown, "text/markdown"),
}


@login_required
@require_GET
@vary_on_headers("HX-Request")
def capability_index(request: SignedInRequest) -> HttpResponse:
    """Show the matrix of a branch: operators by family, dtype and direction, on one device."""
    choice = branch_choose(
        user=request.user, repository=request.GET.get("repository", ""), branch=request.GET.get("branch", "")
    )
    filters = filters_read(request.GET)
    context: dict[str, object] = {
        "choice": choice,
        "filters": filters,
        "families": [(family.value, label) for family, label in FAMILY_LABELS.items()],
        "states": [state.value for state in State],
    }
    reading = capability_list.reading_of(branch=choice.branch) if choice.branch is not None else None
    context["reading"] = reading
    if reading is not None and not reading.failure_reason:
        find = capability_absent.absent_page if filters.only_pytorch else capability_list.matrix_page
        number = _number(request.GET.get("page", ""))
        page = find(scan_run_id=reading.scan_run_id, filters=filters, number=number)
        labels = {family.value: label for family, label in FAMILY_LABELS.items()}
        context |= {
            "page": page,
            "devices": [
                (device, f"{device}: {gaps:,} of {count:,} are gaps") for device, count, gaps in page.devices
            ],
            "groups": [(labels[family], rows) for family, rows in capability_list.families_of(page.rows)],
        }
    is_fragment = request.htmx and not request.htmx.boosted
    template = "capability_list.html#results" if is_fragment else "capability_list.html"
    return render(request, template, context)


@login_required
@require_GET
def capability_export(request: SignedInRequest, key: str) -> HttpResponse:
    """Give the cells that fit the filters as a file."""
    if key not in _EXPORTS:
        raise Http404(f"There is no export as {key}.")
    choice = branch_choose(
        user=request.user, repository=request.GET.get("repository", ""), branch=request.GET.get("branch", "")
    )
    reading = capability_list.reading_of(branch=choice.branch) if choice.branch is not None else None
    if reading is None:
        raise Http404("No scan with capabilities is stored.")
    write, content_type = _EXPORTS[key]
    filters = filters_read(request.GET)
    find = capability_absent.absent_cells if filters.only_pytorch else capability_list.matrix_cells
    cells = find(scan_run_id=reading.scan_run_id, filters=filters)
    response = HttpResponse(write(reading, cells), content_type=f"{content_type}; charset=utf-8")
    name = f"capabilities-{reading.scan_run.repository.slug}-{reading.scan_run.commit.short_id}.{key}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@login_required
@require_GET
def capability_detail(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Show a cell: its state, the code that proves it, PyTorch's answer, and so what to do."""
    branch = _branch(slug, key)
    query = request.GET
    page = cell_page(
        branch=branch,
        operator=key,
        dtype=query.get("dtype", ""),
        device=query.get("device", CapabilityFilters().device),
        direction=query.get("direction", ""),
    )
    if page is None:
        raise Http404(f"Nothing serves this case of {key}.")
    return render(request, "capability_detail.html", {"branch": branch, "page": page, "cell": page.cell})


@login_required
@require_GET
def operator_detail(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    """Show an operator: what PyTorch does, what the project does, and the sites in its way."""
    branch = _branch(slug, key)
    page = operator_page(branch=branch, operator=key, dump_id=request.GET.get("dump", ""))
    if page is None:
        raise Http404(f"Neither PyTorch nor the project has {key}.")
    repository, scan = branch.repository, branch.last_scan
    context = {
        "branch": branch,
        "page": page,
        "repository": repository,
        "notes": notes_of(repository=repository, kind=NoteSubject.OPERATOR, subject=key),
        "entries": entries_about(kind=LinkKind.OPERATOR, target=key, repositories=[repository]),
        "note_kind": NoteSubject.OPERATOR.value,
        "note_subject": key,
        "note_form": AuditNoteForm(
            initial={"commit": scan.commit.short_id if scan else "", **typed(request)["typed"]}
        ),
    }
    return render(request, "operator_detail.html", context)


@login_required
@require_GET
def backend_methods(request: SignedInRequest) -> HttpResponse:
    """Show the backend trait's methods, what their defaults do, and the kernels that nothing calls."""
    query = request.GET
    choice = branch_choose(
        user=request.user, repository=query.get("repository", ""), branch=query.get("branch", "")
    )
    filters = backend_list.filters_read(query)
    page = backend_list.backend_page(branch=choice.branch, filters=filters) if choice.branch else None
    context = {
        "choice": choice,
        "filters": filters,
        "page": page,
        "defaults": backend_list.DEFAULT_LABELS.items(),
    }
    return render(request, "backend_methods.html", context)


def _branch(slug: str, key: str) -> Branch:
    if "\0" in key:
        raise Http404("No operator has such a name.")
    branch = repository_branch(slug=slug)
    if branch is None:
        raise Http404(f"No repository {slug} has a finished scan.")
    return branch


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 1
