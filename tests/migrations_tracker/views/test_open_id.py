"""Logging in at a provider of OpenID Connect, also at one that answers nonsense."""

from __future__ import annotations

import base64
import copy
import hashlib
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.factories import PASSWORD, make_user
from tests.fixtures.provider import Provider

LOGIN = "/login/"
OIDC = "/account/oidc/oidc/login/"
CALLBACK = f"{OIDC}callback/"
REFUSED = 401

pytestmark = pytest.mark.django_db


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def sent_to(client: Client, query: str = "") -> dict[str, list[str]]:
    """Return what a browser is sent to the provider with."""
    return parse_qs(urlsplit(client.post(OIDC + query).context["address"]).query)


def test_people_of_a_provider_come_in_by_its_own_page(client: Client, provider: Provider) -> None:
    there = client.post(OIDC).context["address"]
    assert there.startswith(f"{provider.address}/authorize?")
    back = provider.log_in(client, next="/sites/")
    assert back["Location"] == "/sites/"
    person = User.objects.get(email="lin@example.org")
    assert person.memberships.count() == 0
    assert is_in(client)


def test_the_log_in_page_names_the_provider(client: Client, provider: Provider) -> None:
    assert "Log in by Example" in client.get(LOGIN).content.decode()


def test_without_a_provider_there_is_none(client: Client) -> None:
    assert "Log in by" not in client.get(LOGIN).content.decode()
    assert client.post(OIDC).status_code == 404
    assert client.get(CALLBACK, {"code": "c", "state": "s"}).status_code == 404


class TestWhoTheyAre:
    """The provider's own name for a person is all that counts."""

    def test_the_same_one_comes_in_again_whatever_else_has_changed(self, provider: Provider) -> None:
        provider.log_in(Client())
        provider.person |= {"email": "other@example.org", "preferred_username": "ada"}
        client = Client()
        provider.log_in(client)
        assert is_in(client)
        assert User.objects.get().username == "lin"

    @pytest.mark.parametrize("verified", [True, False])
    def test_an_address_of_somebody_here_opens_nothing_of_theirs(
        self, provider: Provider, verified: bool
    ) -> None:
        ada = make_user()
        User.objects.filter(pk=ada.pk).update(email="Lin@example.org")
        provider.person["email_verified"] = verified
        client = Client()
        assert provider.log_in(client)["Location"] == "/"
        came = SocialAccount.objects.get().user
        assert is_in(client)
        assert (came == ada, came.email) == (False, "")

    @pytest.mark.parametrize("email", [None, "", 7, ["a@b.org"], "no address", "a\0b@example.org", "x" * 999])
    def test_without_an_address_that_is_one_they_have_none(self, provider: Provider, email: object) -> None:
        provider.person["email"] = email
        client = Client()
        provider.log_in(client)
        assert is_in(client)
        assert User.objects.get().email == ""

    @pytest.mark.parametrize("name", ["ada", "ADA", " ada ", 7, None, ["ada"], "a\0b", "\u202e", "x" * 999])
    def test_a_name_is_nobody_else_s(self, provider: Provider, name: object) -> None:
        make_user()
        provider.person["preferred_username"] = name
        client = Client()
        provider.log_in(client)
        came = SocialAccount.objects.get().user
        assert is_in(client)
        assert came.username.strip().lower() != "ada"

    @pytest.mark.parametrize("subject", [None, "", 7, {"a": 1}, "x" * 256, "a\0b"])
    def test_one_without_a_name_of_the_provider_is_nobody(self, provider: Provider, subject: object) -> None:
        provider.person["sub"] = subject
        client = Client()
        assert provider.log_in(client).status_code == REFUSED
        assert not User.objects.exists()
        assert not is_in(client)


class TestTheWayThereAndBack:
    """What only this browser can answer."""

    def test_the_code_is_of_use_to_this_server_alone(self, client: Client, provider: Provider) -> None:
        sent = sent_to(client)
        client.get(CALLBACK, {"code": sent["nonce"][0], "state": sent["state"][0]})
        digest = hashlib.sha256(provider.asked["code_verifier"].encode()).digest()
        assert sent["code_challenge"] == [base64.urlsafe_b64encode(digest).rstrip(b"=").decode()]
        assert sent["code_challenge_method"] == ["S256"]

    def test_what_another_browser_began_is_not_ended_here(self, client: Client, provider: Provider) -> None:
        sent = sent_to(Client())
        back = client.get(CALLBACK, {"code": sent["nonce"][0], "state": sent["state"][0]})
        assert back.status_code == REFUSED
        assert not is_in(client)

    def test_one_way_back_is_gone_once(self, client: Client, provider: Provider) -> None:
        sent = sent_to(client)
        back = {"code": sent["nonce"][0], "state": sent["state"][0]}
        assert [client.get(CALLBACK, back).status_code for _ in range(2)] == [302, REFUSED]

    @pytest.mark.parametrize("claims", [{"nonce": "other"}, {"nonce": None}, {"nonce": 7}])
    def test_a_token_of_another_log_in_is_refused(
        self, client: Client, provider: Provider, claims: dict[str, Any]
    ) -> None:
        provider.id_token = claims
        assert provider.log_in(client).status_code == REFUSED
        assert not is_in(client)

    def test_the_address_adds_nothing_to_what_the_provider_is_asked(
        self, client: Client, provider: Provider
    ) -> None:
        plain = sent_to(client)
        more = urlencode({"redirect_uri": "https://evil.example", "client_id": "x"})
        sent = sent_to(client, f"?{urlencode({'scope': 'offline_access', 'auth_params': more})}")
        for name in ("client_id", "redirect_uri", "scope"):
            assert sorted(sent[name][0].split()) == sorted(plain[name][0].split())

    @pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example"])
    def test_it_leads_back_to_this_site_alone(self, client: Client, provider: Provider, target: str) -> None:
        assert provider.log_in(client, next=target)["Location"] == "/"

    def test_another_site_s_page_begins_none(self, provider: Provider) -> None:
        assert Client(enforce_csrf_checks=True).post(OIDC).status_code == 403
        assert Client().get(OIDC).status_code == 200, "it asks first"


class TestNonsense:
    """A provider that is away, or says what the protocol does not."""

    @pytest.mark.parametrize("what", ["itself", "token", "person"])
    @pytest.mark.parametrize("raw", [b"", b"rubbish", b"[]", b"{}", b"null", b'"x"', b"7", b"\xff\xfe"])
    def test_rubbish_lets_nobody_in(self, client: Client, provider: Provider, what: str, raw: bytes) -> None:
        provider.raw[what] = raw
        assert provider.log_in(client).status_code == REFUSED
        assert not is_in(client)

    @pytest.mark.parametrize("what", ["itself", "token", "person"])
    @pytest.mark.parametrize("status", [404, 500])
    def test_an_error_is_said_to_be_one(
        self, client: Client, provider: Provider, what: str, status: int
    ) -> None:
        provider.status[what] = status
        assert provider.log_in(client).status_code == REFUSED

    @pytest.mark.parametrize("server", ["http://127.0.0.1:1", "no address"])
    def test_one_that_is_away_is_said_to_be(
        self, client: Client, provider: Provider, settings: Settings, server: str
    ) -> None:
        providers = copy.deepcopy(settings.SOCIALACCOUNT_PROVIDERS)
        providers["openid_connect"]["APPS"][0]["settings"]["server_url"] = server
        settings.SOCIALACCOUNT_PROVIDERS = providers
        assert client.post(OIDC).status_code == REFUSED

    @pytest.mark.parametrize(
        "itself",
        [
            {"authorization_endpoint": "javascript:alert(1)"},
            {"authorization_endpoint": None},
            {"token_endpoint": "file:///etc/passwd"},
            {"userinfo_endpoint": 7},
            {"issuer": None},
            {"jwks_uri": ""},
        ],
    )
    def test_addresses_that_are_none_are_not_gone_to(
        self, client: Client, provider: Provider, itself: dict[str, Any]
    ) -> None:
        provider.itself = itself
        assert provider.log_in(client).status_code == REFUSED

    @pytest.mark.parametrize(
        "token",
        [{"id_token": None}, {"id_token": 7}, {"id_token": "rubbish"}, {"access_token": None}],
    )
    def test_without_the_token_that_says_who_it_is_nobody_comes_in(
        self, client: Client, provider: Provider, token: dict[str, Any]
    ) -> None:
        provider.token = token
        assert provider.log_in(client).status_code == REFUSED

    @pytest.mark.parametrize(
        "claims", [{"sub": "8"}, {"sub": None}, {"aud": "other"}, {"iss": "https://other"}, {"exp": 1}]
    )
    def test_a_token_of_somebody_or_for_somebody_else_is_refused(
        self, client: Client, provider: Provider, claims: dict[str, Any]
    ) -> None:
        provider.id_token = claims
        assert provider.log_in(client).status_code == REFUSED
        assert not User.objects.exists()

    def test_when_a_token_ends_does_not_matter(self, client: Client, provider: Provider) -> None:
        provider.token = {"expires_in": "soon"}
        provider.itself = {"token_endpoint_auth_methods_supported": None}
        provider.log_in(client)
        assert is_in(client)


class TestPeopleWhoAreHere:
    """Those whom an administrator switched off, or who have a second factor."""

    def test_one_who_is_switched_off_does_not_come_in(self, provider: Provider) -> None:
        provider.log_in(Client())
        User.objects.update(is_active=False)
        client = Client()
        assert provider.log_in(client)["Location"] == "/account/inactive/"
        assert not is_in(client)

    def test_the_second_factor_is_asked_for_here_too(self, provider: Provider) -> None:
        provider.log_in(Client())
        TOTP.activate(User.objects.get(), generate_totp_secret())
        client = Client()
        assert provider.log_in(client)["Location"] == "/account/second-factor/authenticate/"
        assert not is_in(client)

    def test_an_account_is_joined_to_the_provider_by_who_showed_their_password_just_now(
        self, provider: Provider
    ) -> None:
        ada = make_user()
        client = Client()
        client.force_login(ada)
        asked = provider.log_in(client, query="?process=connect")
        assert asked["Location"].startswith("/account/again/")
        assert not SocialAccount.objects.exists()
        client.post(asked["Location"], {"password": PASSWORD})
        assert SocialAccount.objects.get().user == ada

    def test_nobody_takes_the_provider_s_account_of_another(self, provider: Provider) -> None:
        provider.log_in(Client())
        eve = make_user("eve")
        client = Client()
        client.post(LOGIN, {"username": "eve", "password": PASSWORD})
        provider.log_in(client, query="?process=connect")
        assert SocialAccount.objects.get().user != eve
