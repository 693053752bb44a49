"""The description of the API is written once, and says what it would say anew."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import get_script_prefix, set_script_prefix
from ninja.responses import NinjaJSONEncoder

from migrations_tracker.api.v1.app import api

ADDRESS = "/api/v1/openapi.json"


@pytest.fixture
def script_prefix() -> Iterator[None]:
    before = get_script_prefix()
    yield
    set_script_prefix(before)


def test_the_description_that_is_kept_is_what_the_code_says() -> None:
    answers = [Client(SERVER_NAME=host).get(ADDRESS) for host in ("localhost", "127.0.0.1")]
    said = json.dumps(api.get_openapi_schema(), cls=NinjaJSONEncoder)
    assert [answer.content.decode() for answer in answers] == [said] * 2
    assert {answer["Content-Type"] for answer in answers} == {"application/json"}


def test_each_place_that_the_api_stands_at_has_its_own_addresses(script_prefix: None) -> None:
    for prefix in ("/", "/audit/", "/"):
        set_script_prefix(prefix)
        found = Client().get(ADDRESS).json()["paths"]
        assert f"{prefix}api/v1/sites/{{pk}}" in found
        assert len({path.split("/api/")[0] for path in found}) == 1


def test_who_has_the_description_is_not_sent_it_again() -> None:
    tag = Client().get(ADDRESS)["ETag"]
    again = Client().get(ADDRESS, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert Client().get(ADDRESS, headers={"If-None-Match": '"another"'}).status_code == 200
