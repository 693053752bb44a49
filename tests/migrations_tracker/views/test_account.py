"""Logging in, and a person's tokens."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib.auth.models import User
from django.core.cache import caches
from django.core.cache.backends.db import DatabaseCache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from audit.models import Repository
from migrations_tracker.models import ApiToken, LoginFailure
from migrations_tracker.services.api_tokens import api_token_create, api_token_use
from migrations_tracker.services.log_ins import FAILURES_OF_ADDRESS, FAILURES_OF_PAIR
from tests.factories import PASSWORD, make_user

LOGIN = "/login/"
NOW = time.time()


def try_it(name: str, password: str, **headers: str) -> bytes:
    response = Client().post(LOGIN, {"username": name, "password": password}, headers=headers)
    return b"" if response.status_code == 302 else response.content


def test_whoever_guesses_is_slowed_down_and_the_right_password_is_not_looked_at(ada: User) -> None:
    for _ in range(FAILURES_OF_PAIR - 1):
        assert b"Please enter a correct username" in try_it("ada", "wrong")
    assert b"Too many log-ins failed" in try_it("ada", "wrong")
    assert b"Too many log-ins failed" in try_it("ada", PASSWORD)
    assert b"Too many log-ins failed" in try_it(" ADA", PASSWORD), "spelt otherwise, it is the same name"
    LoginFailure.objects.update(created_at=timezone.now() - timedelta(minutes=16))
    assert try_it("ada", PASSWORD) == b""


def test_one_who_mistypes_and_then_logs_in_begins_anew(ada: User) -> None:
    for _ in range(3):
        for _ in range(FAILURES_OF_PAIR - 1):
            try_it("ada", "wrong")
        assert try_it("ada", PASSWORD) == b""
    assert not LoginFailure.objects.exists()


def test_an_address_that_tries_many_names_is_slowed_down(ada: User) -> None:
    for number in range(FAILURES_OF_ADDRESS):
        try_it(f"nobody-{number}", "wrong")
    assert b"Too many log-ins failed" in try_it("ada", PASSWORD)


def test_others_are_not_locked_out_by_who_guesses_from_elsewhere(ada: User, settings: Settings) -> None:
    settings.IS_BEHIND_PROXY = True
    for _ in range(FAILURES_OF_PAIR):
        try_it("ada", "wrong", **{"X-Forwarded-For": "198.51.100.7, 203.0.113.9"})
    assert b"Too many" in try_it("ada", PASSWORD, **{"X-Forwarded-For": "10.0.0.1, 203.0.113.9"})
    assert try_it("ada", PASSWORD, **{"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}) == b""


def test_a_failed_log_in_keeps_no_name(ada: User) -> None:
    try_it("my secret password", "ada")
    assert "secret" not in str(LoginFailure.objects.values().get())


def test_the_admin_has_no_door_of_its_own(ada_client: Client, client: Client) -> None:
    response = client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/login/?next=")
    assert client.post("/admin/login/", {"username": "root", "password": "x"}).status_code == 405
    assert ada_client.get("/admin/", follow=True).status_code == 403


def test_a_token_is_shown_once_and_can_be_revoked(ada_client: Client, ada: User) -> None:
    form = {"name": "CI", "scope": "write", "days": "30"}
    sent = ada_client.post(reverse("account"), form)
    assert (sent.status_code, sent["Location"]) == (302, reverse("account")), "loading again makes no other"
    made = ada_client.get(sent["Location"])
    assert made["Cache-Control"] == "no-store"
    found = re.search(r"fa_[\w-]{30,}", made.content.decode())
    assert found
    token = api_token_use(text=found[0])
    assert token is not None
    assert (token.owner, token.scope) == (ada, "write")
    assert token.expires_at is not None
    again = ada_client.get(reverse("account")).content.decode()
    assert found[0] not in again
    assert "CI" in again
    revoke = reverse("token-revoke", args=[ApiToken.objects.get().pk])
    other = Client()
    other.force_login(make_user("eve"))
    assert other.post(revoke).status_code == 404
    assert b"is revoked" in ada_client.post(revoke, follow=True).content
    assert api_token_use(text=found[0]) is None


@pytest.mark.parametrize("name", ["", "x" * 101])
def test_a_token_needs_a_name(ada_client: Client, name: str) -> None:
    assert ada_client.post(reverse("account"), {"name": name, "scope": "read", "days": ""}).status_code == 422
    assert not ApiToken.objects.exists()


def test_an_address_for_pushes_is_opened_renewed_and_closed(
    root_client: Client, ada_client: Client, repository: Repository
) -> None:
    Repository.objects.update(kind="git-url", location="https://example.org/a.git")
    address = reverse("repository-pushes", args=[repository.slug])
    assert ada_client.post(address).status_code == 403
    secrets = []
    for _ in range(2):
        page = root_client.post(address, {"do": "renew"}, follow=True)
        secrets += re.findall(r"[0-9a-f]{64}", page.content.decode())
        assert reverse("api-push", args=[repository.slug]) in page.content.decode()
    assert len(set(secrets)) == 2
    closed = root_client.post(address, {"do": "close"}, follow=True).content.decode()
    assert "Open an address for pushes" in closed


class TestLogIns:
    """A person's log-ins can be seen and ended."""

    def test_ending_one_on_another_machine_logs_it_out(self, ada: User) -> None:
        here, there = Client(), Client()
        for client in (here, there):
            client.post(LOGIN, {"username": "ada", "password": PASSWORD})
        assert there.get("/account/").status_code == 200
        other = UserSession.objects.get(session_key=there.session.session_key)
        assert here.post(f"/account/sessions/{other.pk}/end/").status_code == 302
        assert there.get("/account/").status_code == 302
        assert here.get("/account/").status_code == 200

    def test_nobody_ends_those_of_others(self, ada: User) -> None:
        client, eve = Client(), Client()
        client.post(LOGIN, {"username": "ada", "password": PASSWORD})
        make_user("eve")
        eve.post(LOGIN, {"username": "eve", "password": PASSWORD})
        session = UserSession.objects.get(user=ada)
        assert eve.post(f"/account/sessions/{session.pk}/end/").status_code == 404
        assert client.get("/account/").status_code == 200


class TestASecondFactor:
    """Codes of an authenticator app."""

    @pytest.fixture
    def secret(self, ada: User, monkeypatch: pytest.MonkeyPatch) -> str:
        # A code is worth thirty seconds, whose end may come between its making and its use.
        monkeypatch.setattr("allauth.mfa.totp.internal.auth.time", SimpleNamespace(time=lambda: NOW))
        secret: str = generate_totp_secret()
        TOTP.activate(ada, secret)
        return secret

    def test_is_asked_for_after_the_password(self, ada: User, secret: str) -> None:
        client = Client()
        response = client.post(LOGIN, {"username": "ada", "password": PASSWORD})
        assert response["Location"] == "/account/second-factor/authenticate/"
        assert client.get("/sites/").status_code == 302
        wrong = client.post(response["Location"], {"code": "000000"})
        assert wrong.status_code == 200
        assert client.get("/sites/").status_code == 302
        client.post(response["Location"], {"code": code_of(secret)})
        assert client.get("/sites/").status_code == 200

    def test_takes_no_code_twice_whichever_process_saw_it_first(self, ada: User, secret: str) -> None:
        code = code_of(secret)
        assert self._is_let_in(ada, code)
        # Another process of the web server has none of what this one keeps for itself.
        caches["process"].clear()
        caches["default"] = DatabaseCache("migrations_tracker_sharedcache", {})
        assert not self._is_let_in(ada, code)

    @staticmethod
    def _is_let_in(person: User, code: str) -> bool:
        client = Client()
        client.post(reverse("login"), {"username": person.username, "password": PASSWORD})
        client.post(reverse("mfa_authenticate"), {"code": code})
        return client.get("/").status_code == 200

    def test_is_not_offered_unless_the_settings_say_so(self, ada_client: Client, settings: Settings) -> None:
        assert settings.SECOND_FACTOR == "off"
        assert ada_client.get("/account/second-factor/totp/activate/").status_code == 404
        assert "second factor" not in ada_client.get("/account/").content.decode()

    def test_can_be_required_of_everybody(self, ada: User, settings: Settings) -> None:
        settings.SECOND_FACTOR = "required"
        client = Client()
        client.post(LOGIN, {"username": "ada", "password": PASSWORD})
        response = client.get("/sites/")
        assert response["Location"] == "/account/second-factor/totp/activate/"
        again = client.get(response["Location"])["Location"]
        assert again.startswith("/account/again/")
        page = client.post(again, {"password": PASSWORD}, follow=True)
        assert b"Authenticator secret" in page.content
        TOTP.activate(ada, generate_totp_secret())
        assert client.get("/sites/").status_code == 200

    def test_that_is_required_is_asked_for_again_once_it_is_taken_away(
        self, ada: User, settings: Settings
    ) -> None:
        settings.SECOND_FACTOR = "required"
        TOTP.activate(ada, generate_totp_secret())
        client = Client()
        client.force_login(ada)
        assert client.get("/sites/").status_code == 200
        client.post(reverse("mfa_deactivate_totp"))
        Authenticator.objects.all().delete()
        assert client.get("/sites/")["Location"] == "/account/second-factor/totp/activate/"

    def test_that_is_required_is_so_for_every_page_of_the_admin(self, db: None, settings: Settings) -> None:
        settings.SECOND_FACTOR = "required"
        client = Client()
        client.force_login(make_user("root", is_superuser=True))
        for name in ("index", "mfa_authenticator_changelist", "account_emailaddress_changelist"):
            answer = client.get(reverse(f"admin:{name}"))
            assert answer.status_code == 302, name
            assert answer["Location"] == "/account/second-factor/totp/activate/", name

    def test_has_pages_without_inline_styles(self, ada: User, settings: Settings) -> None:
        settings.SECOND_FACTOR = "optional"
        client = Client()
        client.post(LOGIN, {"username": "ada", "password": PASSWORD})
        for address in ("/account/second-factor/totp/activate/", "/account/second-factor/"):
            text = client.get(address, follow=True).content.decode()
            assert " style=" not in text, address
            assert "<script>" not in text, address


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(NOW) // 30)))


@pytest.mark.django_db
def test_who_is_switched_off_is_out_for_good_also_once_they_are_back(ada: User) -> None:
    """Whichever way it is done: the admin's form saves a row, a script updates many."""
    client, lin = Client(), make_user("lin")
    client.post(LOGIN, {"username": "ada", "password": PASSWORD})
    token, text = api_token_create(owner=ada, name="CI")
    _, other = api_token_create(owner=lin, name="CI")
    assert client.get("/account/").status_code == 200
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert api_token_use(text=text) is None
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert api_token_use(text=text) is None
    assert client.get("/account/").status_code == 302
    assert not UserSession.objects.filter(user=ada).exists()
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert api_token_use(text=other) is not None


@pytest.mark.django_db
def test_who_may_do_everything_and_since_whom_is_in_the_history(ada: User, root_client: Client) -> None:
    root = User.objects.get(username="root")
    address = reverse("admin:auth_user_change", args=[ada.pk])
    form = root_client.get(address).context["adminform"].form
    sent = {name: value for name, value in form.initial.items() if isinstance(value, str)}
    sent |= {
        "date_joined_0": "2026-11-28",
        "date_joined_1": "12:00:00",
        "is_active": "on",
        "is_superuser": "on",
    }
    assert root_client.post(address, sent).status_code == 302
    assert User.objects.get(pk=ada.pk).is_superuser
    events = apps.get_model("migrations_tracker", "AccountEvent")._default_manager.filter(pgh_obj=ada.pk)
    added, changed = events.order_by("pgh_id")
    assert (added.pgh_label, added.is_superuser) == ("added", False)
    assert (changed.pgh_label, changed.is_superuser, changed.username) == ("changed", False, "ada")
    assert changed.pgh_context.metadata["user"] == root.pk
    User.objects.filter(pk=ada.pk).update(last_login=timezone.now())
    assert events.count() == 2, "that somebody logs in changes no account"
    page = root_client.get(reverse("admin:migrations_tracker_accountevent_changelist"))
    assert "ada" in page.content.decode()
