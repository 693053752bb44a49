"""Who may ask the API, how often, and what a request that is sent twice does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from audit.models import FallbackSite, Repository
from migrations_tracker.models import (
    ApiAnswer,
    ApiToken,
    Attachment,
    Comment,
    Membership,
    TokenScope,
    Transition,
)
from migrations_tracker.roles import Role
from migrations_tracker.services.api_answers import ANSWERED_WITHIN
from migrations_tracker.services.api_tokens import api_token_spend
from migrations_tracker.services.comments import comment_create
from tests.factories import make_member, make_scan_run, make_user
from tests.migrations_tracker.api.v1.conftest import Ask, asker


def test_without_a_token_nothing_is_answered(repository: Repository) -> None:
    response = Client().get("/api/v1/repositories")
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_session_is_no_token(repository: Repository, ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert client.get("/api/v1/repositories").status_code == 401


def test_a_token_that_has_expired_is_none(ask: Ask) -> None:
    assert ask("GET", "repositories").status_code == 200
    ApiToken.objects.update(expires_at=timezone.now())
    assert ask("GET", "repositories").status_code == 401


def test_a_token_that_may_read_does_not_write(site: FallbackSite, ada: User) -> None:
    read = asker(ada, TokenScope.READ)
    assert read("GET", f"sites/{site.pk}").status_code == 200
    assert read("POST", f"sites/{site.pk}/comments", {"text": "No."}).status_code == 403
    assert not Comment.objects.exists()


def test_a_role_is_needed_where_a_page_needs_it(repository: Repository, ask: Ask) -> None:
    response = ask("POST", "repositories", {"location": "https://example.org/x.git"})
    assert response.status_code == 403
    assert "needs the role administrator" in response.json()["detail"]


def test_a_token_that_asks_too_often_is_told_to_wait(
    repository: Repository, ask: Ask, settings: object
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2  # type: ignore[attr-defined]
    assert [ask("GET", "repositories").status_code for _ in range(3)] == [200, 200, 429]
    assert 1 <= int(ask("GET", "repositories")["Retry-After"]) <= 60
    ApiToken.objects.update(window_started_at=timezone.now() - timedelta(minutes=2))
    assert ask("GET", "repositories").status_code == 200


def test_a_window_that_two_begin_at_once_counts_both(repository: Repository, ask: Ask) -> None:
    assert ask("GET", "repositories").status_code == 200
    token = ApiToken.objects.get()
    ApiToken.objects.update(window_started_at=None, window_count=0)
    with CaptureQueriesContext(connection) as asked:
        api_token_spend(token=token)
    assert sum(query["sql"].startswith("UPDATE") for query in asked) == 1
    api_token_spend(token=token)
    assert ApiToken.objects.get().window_count == 2


def test_what_has_not_changed_is_not_sent_again(site: FallbackSite, ask: Ask) -> None:
    first = ask("GET", f"sites/{site.pk}")
    again = ask("GET", f"sites/{site.pk}", **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    ask("POST", f"sites/{site.pk}/comments", {"text": "Seen."})
    assert ask("GET", f"sites/{site.pk}", **{"If-None-Match": first["ETag"]}).status_code == 200


class TestAKey:
    """A write with an idempotency key."""

    def test_does_a_request_that_is_sent_twice_once(self, site: FallbackSite, ask: Ask) -> None:
        body = {"to": "accepted", "version": 1}
        first = ask("POST", f"sites/{site.pk}/transitions", body, **{"Idempotency-Key": "a"})
        again = ask("POST", f"sites/{site.pk}/transitions", body, **{"Idempotency-Key": "a"})
        assert (first.status_code, first.json()) == (again.status_code, again.json())
        assert again["Idempotency-Replayed"] == "true"
        assert Transition.objects.filter(to_status="accepted").count() == 1

    def test_is_not_taken_for_another_request(self, site: FallbackSite, ask: Ask) -> None:
        ask("POST", f"sites/{site.pk}/comments", {"text": "One."}, **{"Idempotency-Key": "a"})
        other = ask("POST", f"sites/{site.pk}/comments", {"text": "Two."}, **{"Idempotency-Key": "a"})
        assert other.status_code == 422
        assert Comment.objects.count() == 1

    def test_is_its_owner_s_alone(self, site: FallbackSite, ask: Ask) -> None:
        eve = asker(make_user("eve"))
        for who in (ask, eve):
            answer = who("POST", f"sites/{site.pk}/comments", {"text": "Same."}, **{"Idempotency-Key": "a"})
            assert answer.status_code == 201
        assert Comment.objects.count() == 2

    def test_is_free_again_where_the_request_was_refused(self, site: FallbackSite, ask: Ask) -> None:
        refused = ask("POST", f"sites/{site.pk}/comments", {"text": " "}, **{"Idempotency-Key": "a"})
        assert refused.status_code == 422
        done = ask("POST", f"sites/{site.pk}/comments", {"text": "Yes."}, **{"Idempotency-Key": "a"})
        assert done.status_code == 201

    def test_waits_for_the_first_answer_but_not_for_ever(self, site: FallbackSite, ask: Ask) -> None:
        path, body = f"sites/{site.pk}/comments", {"text": "Yes."}
        ask("POST", path, body, **{"Idempotency-Key": "a"})
        ApiAnswer.objects.update(status=None)
        assert ask("POST", path, body, **{"Idempotency-Key": "a"}).status_code == 409
        ApiAnswer.objects.update(created_at=timezone.now() - 2 * ANSWERED_WITHIN)
        assert ask("POST", path, body, **{"Idempotency-Key": "a"}).status_code == 201

    def test_spends_what_the_token_may_ask(self, site: FallbackSite, ask: Ask, settings: Settings) -> None:
        settings.API_REQUESTS_PER_MINUTE = 2
        path, body = f"sites/{site.pk}/comments", {"text": "Yes."}
        given = [ask("POST", path, body, **{"Idempotency-Key": "a"}) for _ in range(3)]
        assert [one.status_code for one in given] == [201, 201, 429]
        assert int(given[-1]["Retry-After"]) >= 1

    def test_shows_nothing_to_who_lost_the_role(self, site: FallbackSite, ask: Ask, ada: User) -> None:
        path, body = f"sites/{site.pk}/comments", {"text": "Yes."}
        ask("POST", path, body, **{"Idempotency-Key": "a"})
        Membership.objects.filter(user=ada).delete()
        assert ask("POST", path, body, **{"Idempotency-Key": "a"}).status_code == 404

    def test_answers_what_deleted_something_as_before(self, site: FallbackSite) -> None:
        lena = make_user("lena", role=None)
        make_member(lena, Role.LEAD, site.repository)
        comment_create(subject=site, author=lena, text="see", files=[("a.txt", b"text")])
        path = f"attachments/{Attachment.objects.get().pk}"
        given = [asker(lena)("DELETE", path, **{"Idempotency-Key": "a"}) for _ in range(2)]
        assert [one.status_code for one in given] == [204, 204]

    def test_changes_nothing_for_a_read(self, site: FallbackSite, ask: Ask, ada: User) -> None:
        png = b"\x89PNG\r\n\x1a\n\xff"
        comment_create(subject=site, author=ada, text="see", files=[("a.png", png)])
        path = f"attachments/{Attachment.objects.get().pk}"
        assert ask("GET", path, **{"Idempotency-Key": "a"}).content == png
        Attachment.objects.all().delete()
        assert ask("GET", path, **{"Idempotency-Key": "a"}).status_code == 404
        assert not ApiAnswer.objects.exists()

    @pytest.mark.parametrize("key", ["x" * 201, "tab\there"])
    def test_that_is_none_is_refused(self, site: FallbackSite, ask: Ask, key: str) -> None:
        answer = ask("POST", f"sites/{site.pk}/comments", {"text": "Yes."}, **{"Idempotency-Key": key})
        assert answer.status_code == 400


class TestRoles:
    """Who has which role, through the API."""

    def test_are_given_read_and_taken_by_an_administrator(self, repository: Repository) -> None:
        root = asker(make_user("root", is_superuser=True))
        make_user("zoe", role=None)
        path = "repositories/minitorch/roles"
        assert root("PUT", f"{path}/zoe", {"role": "lead"}).json()["role"] == "lead"
        assert {"person": "zoe", "role": "lead", "everywhere": False} in root("GET", path).json()
        assert root("DELETE", f"{path}/zoe").status_code == 204
        assert not [one for one in root("GET", path).json() if one["person"] == "zoe"]
        assert root("PUT", f"{path}/nobody", {"role": "lead"}).status_code == 422
        assert root("PUT", f"{path}/root", {"role": "lead"}).status_code == 422

    def test_are_nothing_for_an_engineer(self, repository: Repository, ask: Ask) -> None:
        assert ask("GET", "repositories/minitorch/roles").status_code == 403
        assert ask("PUT", "repositories/minitorch/roles/ada", {"role": "lead"}).status_code == 403


def test_a_filter_is_kept_shared_and_dropped(repository: Repository, ask: Ask) -> None:
    path = "repositories/minitorch/filters"
    body = {"name": "errors", "query": "level=error&page=x&columns=due", "is_shared": False}
    made = ask("POST", path, body)
    assert made.status_code == 201
    assert made.json()["url"] == "/sites/?repository=minitorch&level=error&columns=due"
    other = asker(make_user("eve"))
    assert other("GET", path).json() == []
    assert other("DELETE", f"filters/{made.json()['id']}").status_code == 404
    assert ask("DELETE", f"filters/{made.json()['id']}").status_code == 204
    assert ask("GET", path).json() == []


def test_a_scan_that_waits_is_cancelled_and_asked_for_again(repository: Repository, ask: Ask) -> None:
    waiting = make_scan_run(repository)
    assert ask("POST", f"scans/{waiting.pk}/cancel").json()["state"] == "cancelled"
    assert ask("POST", f"scans/{waiting.pk}/again").status_code in (202, 422)
