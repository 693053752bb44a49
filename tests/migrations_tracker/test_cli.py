"""Sites and units from a terminal, against a real server."""

from __future__ import annotations

import io
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from audit.models import FallbackSite
from migrations_tracker import cli
from migrations_tracker.models import Comment, SiteMigration
from migrations_tracker.services.api_tokens import api_token_create
from tests.factories import ingest, make_report, make_repository, make_result, make_user
from tests.migrations_tracker.plan_fixture import make_plan
from workers.models import VerificationRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ada() -> User:
    return make_user()


@pytest.fixture(autouse=True)
def server(live_server: LiveServer, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERROAUDIT_URL", live_server.url)
    monkeypatch.setenv("FERROAUDIT_TOKEN", api_token_create(owner=ada, name="terminal")[1])


@pytest.fixture
def site() -> FallbackSite:
    ingest(make_repository(), make_report([make_result(), make_result("minitorch_gpu::ops::gelu", line=40)]))
    return FallbackSite.objects.get(symbol="minitorch_gpu::ops::relu")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


class Elsewhere(BaseHTTPRequestHandler):
    """A server that sends whoever asks on to itself, and keeps what it was shown there."""

    shown: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if self.path.startswith("/elsewhere"):
            self.shown.append(self.headers.get("Authorization", ""))
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Write nothing."""


def test_the_token_goes_nowhere_that_an_answer_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as elsewhere:
        Thread(target=elsewhere.serve_forever, daemon=True).start()
        monkeypatch.setenv("FERROAUDIT_URL", f"http://127.0.0.1:{elsewhere.server_port}")
        assert cli.main(["site", "1"]) == cli.REFUSED
        elsewhere.shutdown()
    assert "302" in capsys.readouterr().err
    assert Elsewhere.shown == []


def test_sites_are_listed_a_line_each(site: FallbackSite, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "sites", "minitorch", "--q", "relu").splitlines()
    assert len(lines) == 1
    assert lines[0].split()[0] == str(site.pk)
    assert site.symbol in lines[0]


def test_a_site_tells_why_it_is_one_and_what_may_be_done(
    site: FallbackSite, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "site", str(site.pk))
    for part in ("FT001 silent-fallback", "still there", "anchor: minitorch-gpu/src/ops.rs:10", "PyTorch"):
        assert part in text
    assert "accepted" in text
    assert "suppressed" not in text, "that is a lead's to rule"


def test_a_site_is_moved_given_away_and_spoken_of(
    site: FallbackSite, ada: User, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(capsys, "move", str(site.pk), "accepted") == f"Site {site.pk} is accepted.\n"
    said(capsys, "assign", str(site.pk), "ada")
    assert SiteMigration.objects.get(site=site).assignee == ada
    said(capsys, "assign", str(site.pk), "-")
    assert SiteMigration.objects.get(site=site).assignee is None
    monkeypatch.setattr("sys.stdin", io.StringIO("Two\nlines"))
    said(capsys, "comment", str(site.pk), "-")
    assert Comment.objects.get().text == "Two\nlines"


def test_proof_is_asked_for(site: FallbackSite, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is pending" in said(capsys, "verify", str(site.pk), "minitorch")
    assert VerificationRequest.objects.get().site == site


def test_a_unit_is_shown_with_its_rationale(ada: User, capsys: pytest.CaptureFixture[str]) -> None:
    unit = make_plan().units.earliest("pk")
    assert f"# {unit.title}" in said(capsys, "unit", str(unit.pk))
    assert json.loads(said(capsys, "--json", "unit", str(unit.pk)))["id"] == unit.pk


def test_what_the_server_refuses_ends_with_1_and_its_words(
    site: FallbackSite, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["move", str(site.pk), "migrated", "--reason", "x"]) == 1
    assert "still sees" in capsys.readouterr().err
    assert cli.main(["move", str(site.pk), "done"]) == 1
    assert "to:" in capsys.readouterr().err
    assert cli.main(["site", "999999"]) == 1


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "file:///etc/passwd", "nonsense"])
def test_a_server_that_is_not_there_ends_with_2(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERROAUDIT_URL", address)
    assert cli.main(["site", "1"]) == 2
    assert address in capsys.readouterr().err


def test_without_a_token_it_says_where_one_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FERROAUDIT_TOKEN")
    assert cli.main(["site", "1"]) == 2
    assert "account" in capsys.readouterr().err
