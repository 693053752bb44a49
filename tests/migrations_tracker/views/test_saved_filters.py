"""Filters that are kept, shared and dropped."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Repository
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Membership, SavedFilter
from migrations_tracker.roles import Role
from migrations_tracker.services.saved_filters import saved_filter_drop, saved_filter_keep
from tests.factories import make_member, make_repository, make_user

QUERY = "repository=minitorch&rule=FT001&q=relu&page=abc"


def keep(client: Client, repository: Repository, name: str = "mine", **fields: str) -> None:
    sent = {"repository": repository.slug, "query": QUERY, "name": name, **fields}
    assert client.post(reverse("filter-keep"), sent).status_code == 302


def shown(client: Client, repository: Repository) -> str:
    return client.get(reverse("site-list"), {"repository": repository.slug}).content.decode()


def test_a_filter_is_kept_without_the_page_and_shown_to_its_owner_alone(
    site: FallbackSite, repository: Repository, ada_client: Client, root_client: Client
) -> None:
    keep(ada_client, repository)
    assert SavedFilter.objects.get().query == "repository=minitorch&rule=FT001&q=relu"
    assert "rule=FT001&amp;q=relu" in shown(ada_client, repository)
    assert "rule=FT001&amp;q=relu" not in shown(root_client, repository)


def test_a_shared_filter_is_shown_to_all_who_see_the_repository(
    site: FallbackSite, repository: Repository, ada_client: Client, root_client: Client
) -> None:
    keep(ada_client, repository, is_shared="on")
    assert "rule=FT001&amp;q=relu" in shown(root_client, repository)
    eve = Client()
    eve.force_login(make_user("eve", role=None))
    assert "FT001&amp;q=relu" not in shown(eve, repository)


def test_the_same_name_again_changes_the_filter(ada: User, repository: Repository) -> None:
    for query in ("rule=FT001", "rule=FT008"):
        saved_filter_keep(owner=ada, repository=repository, name="x", query=QueryDict(query), is_shared=False)
    assert SavedFilter.objects.get().query == "repository=minitorch&rule=FT008"


def test_a_filter_without_a_name_is_refused_and_not_lost(
    site: FallbackSite, repository: Repository, ada_client: Client
) -> None:
    response = ada_client.post(
        reverse("filter-keep"), {"repository": repository.slug, "query": QUERY, "name": " "}, follow=True
    )
    assert "Give the filter a name." in response.content.decode()
    assert response.redirect_chain[0][0].startswith("/sites/?repository=minitorch&rule=FT001")
    assert not SavedFilter.objects.exists()


def test_only_its_owner_or_a_lead_drops_a_shared_filter(ada: User, repository: Repository) -> None:
    row = saved_filter_keep(owner=ada, repository=repository, name="x", query=QueryDict(""), is_shared=True)
    eve = make_user("eve")
    with pytest.raises(PlanError):
        saved_filter_drop(row=row, actor=eve)
    lin = make_user("lin", role=None)
    make_member(lin, Role.LEAD, make_repository("elsewhere"))
    with pytest.raises(PlanError):
        saved_filter_drop(row=row, actor=lin)
    make_member(lin, Role.LEAD, repository)
    saved_filter_drop(row=row, actor=User.objects.get(pk=lin.pk))
    assert not SavedFilter.objects.exists()


def test_a_filter_of_somebody_else_can_not_be_dropped(
    site: FallbackSite, repository: Repository, ada_client: Client, root_client: Client
) -> None:
    keep(ada_client, repository)
    pk = SavedFilter.objects.get().pk
    assert root_client.post(reverse("filter-drop", args=[pk])).status_code == 404
    assert ada_client.post(reverse("filter-drop", args=[pk])).status_code == 302
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize(
    ("given", "kept"), [("a\0b", "ab"), ("a\u202eb", "ab"), (" a\nb\u200b ", "ab"), ("<q>", "<q>")]
)
def test_a_name_holds_nothing_that_can_not_be_seen(
    site: FallbackSite, repository: Repository, ada_client: Client, given: str, kept: str
) -> None:
    keep(ada_client, repository, given)
    assert SavedFilter.objects.get().name == kept
    assert "<q>" not in shown(ada_client, repository)


@pytest.mark.parametrize("name", ["", "\0", "\u200b", "x" * 101, "x" * 5000])
def test_a_name_that_is_none_or_too_long_keeps_nothing(
    repository: Repository, ada_client: Client, name: str
) -> None:
    keep(ada_client, repository, name)
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize(
    "query", ["%00", "rule=%ff", "rule=" + "x" * 3000, "sort=none&columns=none&level=none&gone=1"]
)
def test_a_query_that_means_nothing_opens_or_is_refused(
    site: FallbackSite, repository: Repository, ada_client: Client, query: str
) -> None:
    keep(ada_client, repository, query=query)
    for row in SavedFilter.objects.all():
        assert ada_client.get(row.get_absolute_url()).status_code == 200


def test_who_has_lost_the_role_finds_no_filter_of_the_repository(
    site: FallbackSite, repository: Repository, ada: User, ada_client: Client
) -> None:
    keep(ada_client, repository, "shared-and-mine", is_shared="on")
    row = SavedFilter.objects.get()
    assert "shared-and-mine" in shown(ada_client, repository)
    Membership.objects.filter(user=ada).delete()
    assert "shared-and-mine" not in shown(ada_client, repository)
    assert ada_client.post(reverse("filter-drop", args=[row.pk])).status_code == 404
    assert SavedFilter.objects.exists()
