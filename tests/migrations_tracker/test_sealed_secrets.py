"""Secrets of second factors in the database, and what becomes of them under another key."""

from __future__ import annotations

from importlib import import_module

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from migrations_tracker.sealed_secrets import secret_open, secret_seal
from tests.factories import PASSWORD, make_user

CHANGE = import_module("migrations_tracker.migrations.0035_sealed_second_factors")


@given(st.text())
def test_what_is_sealed_is_opened_again_and_does_not_show(text: str) -> None:
    sealed = secret_seal(text)
    assert secret_open(sealed) == text
    # What is sealed begins with the same letters each time: a short text may be among them.
    assert len(text) < 8 or text not in sealed


def test_another_key_opens_nothing(settings: Settings) -> None:
    sealed = secret_seal("JBSWY3DPEHPK3PXP")
    settings.SECRET_KEY = "another"
    with pytest.raises(PermissionDenied, match="another SECRET_KEY"):
        secret_open(sealed)


@pytest.mark.django_db
class TestASecondFactor:
    def test_keeps_no_secret_that_can_be_read_in_the_database(self) -> None:
        secret = generate_totp_secret()
        TOTP.activate(make_user(), secret)
        with connection.cursor() as cursor:
            cursor.execute("SELECT data::text FROM mfa_authenticator")
            [(kept,)] = cursor.fetchall()
        assert "sealed:" in kept
        assert secret not in kept

    def test_of_another_key_lets_nobody_in_and_says_why(self, settings: Settings) -> None:
        ada = make_user()
        TOTP.activate(ada, generate_totp_secret())
        settings.SECRET_KEY = "another"
        client = Client()
        client.post(reverse("login"), {"username": ada.username, "password": PASSWORD})
        answer = client.post(reverse("mfa_authenticate"), {"code": "000000"})
        assert answer.status_code == 403
        assert "set up under another SECRET_KEY" in answer.content.decode()
        assert "You are signed in" not in answer.content.decode()
        assert client.get("/sites/").status_code == 302

    def test_of_before_is_sealed_by_the_migration_and_works_as_it_did(self) -> None:
        ada = make_user()
        codes = RecoveryCodes.activate(ada).generate_codes()
        plain = {"seed": secret_open(Authenticator.objects.get().data["seed"]), "used_mask": 0}
        Authenticator.objects.update(data=plain)
        CHANGE.seal(apps, connection.schema_editor())
        kept = Authenticator.objects.get()
        assert kept.data["seed"].startswith("sealed:")
        assert RecoveryCodes(kept).generate_codes() == codes
        CHANGE.unseal(apps, connection.schema_editor())
        assert Authenticator.objects.get().data == plain
