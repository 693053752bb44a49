"""The table of roles, cell by cell and object by object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from model_bakery import baker

from audit.models import CapabilityGap, FallbackSite, PrecedentKind, Repository
from migrations_tracker.api.v1.app import api
from migrations_tracker.models import Attachment, BulkChange, Membership, ReportSchedule, SavedFilter
from migrations_tracker.roles import OPERATIONS, PAGES, PERMISSIONS, Need, Role, Scope
from migrations_tracker.services.api_tokens import api_token_create
from tests.factories import PASSWORD, make_member, make_repository, make_user
from tests.migrations_tracker.views.test_access import POST_ONLY, addresses
from workers.models import Runner

__all__ = ["addresses"]

# What the included lists of addresses name, by the model that stands behind each.
MODELS = {
    "imported-audit": "audit.ImportedAudit",
    "imported-finding": "audit.ImportedFinding",
    "entry": "audit.KnowledgeEntry",
    "precedent": "audit.Precedent",
    "verification-report": "workers.MechanicalReport",
    "verification-job": "workers.VerificationJob",
    "verification-request": "workers.VerificationRequest",
    "verification-detail": "workers.Verification",
}
# What their constraints ask for.
COLUMNS: dict[str, dict[str, Any]] = {
    "audit.ImportedAudit": {"format": "csv"},
    "audit.Precedent": {"kind": PrecedentKind.NOT_A_SITE, "decision": "", "reason": "no tensor"},
    "workers.MechanicalReport": {"symbol": "minitorch_gpu::ops::relu"},
    "workers.Verification": {"verdict": "no-kernel", "evidence": {}},
}
BY_POST = POST_ONLY | {
    "imported-audit-match",
    "imported-finding-judge",
    "imported-finding-link",
    "audit-note-add",
    "entry-restore",
    "precedent-opinion",
    "site-ruling",
    "runner-add",
    "runner-act",
    "verification-ask",
    "verification-report-ask",
    "verification-job-act",
}

ROLES = tuple(Role)
FORBIDDEN, NOT_FOUND = 403, 404
WRITING = ("post", "put", "patch", "delete")
# Of programs: they are asked with a token, not by a browser.
ASKED_WITH_A_TOKEN = ("api-",)


def names_of(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            assert pattern.name
            yield pattern.name
        elif not pattern.namespace:
            yield from names_of(pattern.url_patterns)


def test_every_page_says_which_role_it_needs() -> None:
    named = set(names_of(get_resolver().url_patterns)) - {"health"}
    assert named == set(PAGES)


def test_every_operation_of_the_api_says_which_role_it_needs() -> None:
    schema = api.get_openapi_schema()
    found = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, operations in schema["paths"].items()
        for method in operations
    }
    assert found == set(OPERATIONS) - {"GET /", "GET /openapi.json"}


def test_each_thing_of_a_repository_says_where_the_repository_stands() -> None:
    for name, need in {**PAGES, **OPERATIONS}.items():
        assert (need.scope is Scope.REPOSITORY) == (need.owner is not None), name


def expected(need: Need, *, is_safe: bool, role: Role) -> int | None:
    """Return the status with which a role is refused, or None where the view is asked."""
    needed = need.role_for(is_safe=is_safe)
    if need.scope not in (Scope.REPOSITORY, Scope.SYSTEM) or role >= needed:
        return None
    return NOT_FOUND if role is Role.NOBODY and need.scope is Scope.REPOSITORY else FORBIDDEN


def ask(client: Client, address: str, *, is_safe: bool) -> int:
    """Ask without changing anything."""
    with transaction.atomic():
        status = client.get(address).status_code if is_safe else client.post(address).status_code
        transaction.set_rollback(True)
    return status


def cells(addresses: dict[str, str]) -> Iterator[tuple[str, str, bool]]:
    for name, address in addresses.items():
        if name not in BY_POST:
            yield name, address, True
        if PAGES[name].write > Role.NOBODY:
            yield name, address, False


@pytest.fixture
def everything(addresses: dict[str, str], repository: Repository, site: FallbackSite) -> dict[str, str]:
    """The addresses of every page, with a row of the repository behind each."""
    found = dict(addresses)
    for name in sorted(set(PAGES) - set(addresses)):
        if PAGES[name].scope not in (Scope.PUBLIC, Scope.OWN) and not name.startswith(ASKED_WITH_A_TOKEN):
            found[name] = address_of(name, repository, site)
    return found


def address_of(name: str, repository: Repository, site: FallbackSite) -> str:
    if name == "site-ruling":
        return reverse(name, args=[site.pk])
    if name == "label-export":
        return reverse(name, args=[repository.slug])
    if name == "crate-detail":
        return reverse(name, args=[repository.slug, "minitorch-gpu"])
    if name == "audit-note-add":
        return reverse(name, args=[repository.slug, "crate", "minitorch-gpu"])
    if name == "reference-detail":
        return reverse(name, args=[repository.slug, "commit", "abc"])
    if name in ("runner-detail", "runner-act"):
        return reverse(name, args=[Runner.objects.get_or_create(name="rack-1")[0].name])
    try:
        return reverse(name)
    except NoReverseMatch:
        model = next(MODELS[start] for start in MODELS if name.startswith(start))
        return reverse(name, args=[row_of(model, repository).pk])


def row_of(model: str, repository: Repository) -> Any:
    """Make a row that belongs to a repository, or give the one that is there."""
    kept = apps.get_model(model).objects.first()
    if kept is not None:
        return kept
    known = {
        "repository": repository,
        "commit": repository.commits.earliest("pk"),
        "site": FallbackSite.objects.get(),
        "audit": "audit.ImportedAudit",
        "job": "workers.VerificationJob",
    }
    needed = {field.name for field in apps.get_model(model)._meta.fields if not field.null}
    given = {name: value for name, value in known.items() if name in needed | {"repository"}}
    columns = {name for name in given if name in {f.name for f in apps.get_model(model)._meta.fields}}
    rows = {
        name: row_of(value, repository) if isinstance(value, str) else value
        for name, value in given.items()
        if name in columns
    }
    columns_of_its_own: dict[str, Any] = {**rows, **COLUMNS.get(model, {})}
    return baker.make(model, **columns_of_its_own)


@pytest.fixture
def person(db: None) -> User:
    return make_user("petra", role=None)


@pytest.fixture
def person_client(person: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person, backend="migrations_tracker.access.RoleBackend")
    return client


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name.lower())
def test_each_page_lets_those_in_whose_role_the_table_names(
    everything: dict[str, str], repository: Repository, person: User, person_client: Client, role: Role
) -> None:
    if role:
        make_member(person, role)
    for name, address, is_safe in cells(everything):
        refused = expected(PAGES[name], is_safe=is_safe, role=role)
        status = ask(person_client, address, is_safe=is_safe)
        if refused is None:
            assert status != FORBIDDEN, (name, is_safe)
        else:
            assert status == refused, (name, is_safe)


def test_a_role_in_one_repository_opens_no_other(
    everything: dict[str, str], repository: Repository, person: User, person_client: Client
) -> None:
    make_member(person, Role.ADMINISTRATOR, make_repository("elsewhere"))
    seen = 0
    for name, address, is_safe in cells(everything):
        if PAGES[name].scope is not Scope.REPOSITORY or PAGES[name].owner.is_field:  # type: ignore[union-attr]
            continue
        assert ask(person_client, address, is_safe=is_safe) == NOT_FOUND, name
        seen += 1
    assert seen >= 90


def test_a_role_in_a_repository_suffices_there(
    everything: dict[str, str], repository: Repository, person: User, person_client: Client
) -> None:
    make_member(person, Role.ADMINISTRATOR, repository)
    for name, address, is_safe in cells(everything):
        if PAGES[name].scope is Scope.REPOSITORY:
            assert ask(person_client, address, is_safe=is_safe) not in (FORBIDDEN,), name


def test_a_repository_named_in_a_form_is_held_to_the_role_there(
    repository: Repository, site: FallbackSite, person: User, person_client: Client
) -> None:
    make_member(person, Role.ADMINISTRATOR, make_repository("elsewhere"))
    for name in ("verification-ask", "verification-report-ask", "imported-audit-add", "bulk-change-ask"):
        response = person_client.post(reverse(name), {"repository": repository.slug})
        assert response.status_code == NOT_FOUND, name
    branch = repository.branches.get().pk
    assert person_client.post(reverse("report-ask"), {"branch": branch}).status_code == NOT_FOUND


def test_a_header_for_programs_opens_nothing_to_who_is_logged_in(
    site: FallbackSite, person_client: Client
) -> None:
    for header in ("Basic cGV0cmE6eA==", "Bearer fa_nothing", "x"):
        shown = {"Authorization": header}
        for name in ("site-detail", "site-timeline"):
            assert person_client.get(reverse(name, args=[site.pk]), headers=shown).status_code == NOT_FOUND
        said = person_client.post(reverse("site-comment", args=[site.pk]), {"text": "Hello."}, headers=shown)
        assert said.status_code == NOT_FOUND
    assert not site.comments.exists()


def test_a_form_and_an_address_that_name_two_repositories_are_refused(
    repository: Repository, site: FallbackSite, person: User, person_client: Client
) -> None:
    make_member(person, Role.READER, repository)
    elsewhere = make_repository("elsewhere")
    make_member(person, Role.LEAD, elsewhere)
    for slug in (elsewhere.slug, f"{elsewhere.slug}\0"):
        for query in (f"?repository={repository.slug}", ""):
            answer = person_client.post(
                f"{reverse('bulk-change-ask')}{query}",
                {"repository": slug, "to": "accepted", "owner": "", "reason": "", "seen_count": "1"},
            )
            assert answer.status_code in (FORBIDDEN, NOT_FOUND), (slug, query)
    assert not BulkChange.objects.exists()


def test_lists_show_nothing_of_a_repository_without_a_role_in_it(
    everything: dict[str, str], repository: Repository, person: User, person_client: Client
) -> None:
    make_member(person, Role.ADMINISTRATOR, make_repository("elsewhere"))
    for name, need in PAGES.items():
        if need.scope is Scope.LISTED and not name.startswith(ASKED_WITH_A_TOKEN) and name in everything:
            for query in ("", f"?repository={repository.slug}"):
                text = person_client.get(everything[name] + query).content.decode()
                assert "minitorch_gpu" not in text, name + query
                assert query or "minitorch" not in text, name


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name.lower())
def test_each_operation_lets_those_in_whose_role_the_table_names(
    addresses: dict[str, str], repository: Repository, site: FallbackSite, person: User, role: Role
) -> None:
    other = make_repository("elsewhere")
    make_member(person, Role.ADMINISTRATOR, other)
    if role:
        make_member(person, role, repository)
    token = api_token_create(owner=person, name="CI")[1]
    for operation, need in OPERATIONS.items():
        method, path = operation.split(" ")
        if need.scope is not Scope.REPOSITORY:
            continue
        status = operate(token, method, filled(path, repository, site))
        refused = expected(need, is_safe=method == "GET", role=role)
        if refused is None:
            assert status != FORBIDDEN, operation
        else:
            assert status == refused, operation


def operate(token: str, method: str, path: str) -> int:
    client = Client()
    with transaction.atomic():
        response = client.generic(
            method, f"/api/v1{path}", b"{}", "application/json", headers={"Authorization": f"Bearer {token}"}
        )
        transaction.set_rollback(True)
    return response.status_code


def filled(path: str, repository: Repository, site: FallbackSite) -> str:
    """Put something real of the repository into a path."""
    numbers = {
        "/sites/": site.pk,
        "/gaps/": CapabilityGap.objects.get().pk,
        "/scans/": site.first_seen_scan_id,
        "/scan-requests/": repository.scan_requests.earliest("pk").pk,
        "/units/": repository.plan.units.earliest("pk").pk,
        "/schedules/": repository.plan.schedules.earliest("pk").pk,
        "/bulk-changes/": BulkChange.objects.earliest("pk").pk,
        "/attachments/": Attachment.objects.get().pk,
        "/filters/": SavedFilter.objects.get().pk,
        "/report-schedules/": ReportSchedule.objects.get().pk,
        "/reports/": repository.branches.get().reports.earliest("pk").pk,
    }
    number = next((pk for start, pk in numbers.items() if path.startswith(start)), 0)
    return path.replace("{slug}", repository.slug).replace("{pk}", str(number)).replace("{key}", "md")


def test_a_superuser_is_an_administrator_everywhere(addresses: dict[str, str], root_client: Client) -> None:
    assert root_client.get(addresses["repository-people"]).status_code == 200


class TestGivingRoles:
    """The page of a repository's people."""

    def test_takes_effect_at_once(
        self, repository: Repository, person: User, person_client: Client, root_client: Client
    ) -> None:
        address = reverse("repository-people", args=[repository.slug])
        assert person_client.get(repository.get_absolute_url()).status_code == NOT_FOUND
        root_client.post(address, {"person": "petra", "role": str(Role.READER.value)})
        assert person_client.get(repository.get_absolute_url()).status_code == 200
        root_client.post(address, {"person": "petra", "role": "0"})
        assert person_client.get(repository.get_absolute_url()).status_code == NOT_FOUND
        assert [row.role for row in Membership.objects.filter(user=person)] == []

    def test_leaves_a_row_in_the_history_for_each_change(
        self, repository: Repository, person: User, root_client: Client
    ) -> None:
        address = reverse("repository-people", args=[repository.slug])
        for role in (Role.READER, Role.LEAD, Role.NOBODY):
            root_client.post(address, {"person": "petra", "role": str(role.value)})
        history = Membership.pgh_event_models["given"].objects  # type: ignore[attr-defined]
        assert list(history.order_by("pgh_id").values_list("pgh_label", flat=True)) == [
            "given",
            "changed",
            "taken",
        ]

    def test_refuses_a_person_s_own_role(
        self, repository: Repository, person: User, person_client: Client
    ) -> None:
        make_member(person, Role.ADMINISTRATOR, repository)
        address = reverse("repository-people", args=[repository.slug])
        response = person_client.post(address, {"person": "petra", "role": "1"})
        assert response.status_code == 422
        assert Membership.objects.get(user=person).role == Role.ADMINISTRATOR

    def test_gives_no_role_in_all_repositories_by_who_has_one_in_this(
        self, repository: Repository, person: User, person_client: Client
    ) -> None:
        make_member(person, Role.ADMINISTRATOR, repository)
        eve = make_user("eve", role=None)
        address = reverse("repository-people", args=[repository.slug])
        response = person_client.post(address, {"person": "eve", "role": "4", "everywhere": "on"})
        assert response.status_code == 422
        assert not Membership.objects.filter(user=eve).exists()


def test_permissions_that_templates_ask_for_follow_the_role(person: User) -> None:
    make_member(person, Role.LEAD)
    person = User.objects.get(pk=person.pk)
    for permission, role in PERMISSIONS.items():
        assert person.has_perm(permission) == (role <= Role.LEAD), permission


def test_who_is_no_longer_active_has_no_role(person: User) -> None:
    make_member(person, Role.ADMINISTRATOR)
    person = User.objects.get(pk=person.pk)
    person.is_active = False
    person.save()
    assert not Client().login(username="petra", password=PASSWORD)
    assert not person.has_perm("audit.change_repository")
