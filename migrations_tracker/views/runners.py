"""Runners: the machines, what was measured on them, and what people want of them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from migrations_tracker.forms import RunnerAddForm
from migrations_tracker.http import SignedInRequest
from migrations_tracker.shown_once import secret_forget, secret_receive, secret_send
from workers.errors import MachineryError
from workers.models import Runner, RunnerState
from workers.selectors import runners as selector
from workers.services.runners import runner_add, runner_set_state, runner_token_renew

UNPROCESSABLE = 422
_ACTS = {"enable": RunnerState.ENABLED, "drain": RunnerState.DRAINING, "disable": RunnerState.DISABLED}


@login_required
@require_GET
def runner_index(request: SignedInRequest) -> HttpResponse:
    """List the runners."""
    return _list(request, RunnerAddForm())


@login_required
@permission_required("workers.add_runner", raise_exception=True)
@require_POST
def runner_create(request: SignedInRequest) -> HttpResponseBase:
    """Add a runner, and go on to its page, which shows its registration token this once."""
    form = RunnerAddForm(request.POST)
    if form.is_valid():
        try:
            runner, token = runner_add(name=form.cleaned_data["name"], actor=request.user)
        except MachineryError as error:
            form.add_error("name", str(error))
        else:
            return secret_send(request=request, page=runner.get_absolute_url(), secret=token)
    return _list(request, form, status=UNPROCESSABLE)


@login_required
@require_GET
def runner_detail(request: SignedInRequest, name: str) -> HttpResponse:
    """Show a runner."""
    runner = get_object_or_404(Runner, name=name)
    token = secret_receive(request)
    context = {
        "page": selector.runner_page(runner=runner),
        "runner": runner,
        "token": token,
        "server": request.build_absolute_uri("/").rstrip("/"),
    }
    response = render(request, "runner_detail.html", context)
    if token:
        secret_forget(response, page=request.path)
    return response


@login_required
@permission_required("workers.change_runner", raise_exception=True)
@require_POST
def runner_act(request: SignedInRequest, name: str) -> HttpResponseBase:
    """Enable, drain or disable a runner, or give it a new registration token."""
    runner = get_object_or_404(Runner, name=name)
    act = request.POST.get("act", "")
    if act == "token":
        token = runner_token_renew(runner=runner, actor=request.user)
        return secret_send(request=request, page=runner.get_absolute_url(), secret=token)
    if act not in _ACTS:
        raise Http404("There is no such act.")
    runner_set_state(
        runner=runner, to=_ACTS[act], actor=request.user, reason=request.POST.get("reason", "").strip()
    )
    messages.success(request, f"{runner}: {_ACTS[act].label.lower()}.")
    return redirect(runner)


def _list(request: SignedInRequest, form: RunnerAddForm, status: int = 200) -> HttpResponse:
    context = {
        "rows": selector.runner_rows(),
        "form": form,
        "gpu_minutes": selector.gpu_minutes_used(),
        "gpu_budget": selector.gpu_minutes_budget(),
    }
    return render(request, "runner_list.html", context, status=status)
