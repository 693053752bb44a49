"""The list of sites and a site's page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Repository
from audit.scanner.report import Region, Suppression
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Comment, SiteMigration
from migrations_tracker.selectors.site_list import Cursor
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.factories import ingest, make_report, make_result

HTMX = {"HX-Request": "true"}


def transition(client: Client, site: FallbackSite, **fields: object) -> Any:
    values = {"to": "accepted", "reason": "", "version": 1, **fields}
    return client.post(reverse("site-transition", args=[site.pk]), values)


def test_without_a_scan_the_list_says_what_to_do(ada_client: Client, repository: Repository) -> None:
    assert b"has no finished scan" in ada_client.get(reverse("site-list")).content


def test_a_place_of_the_list_behind_which_nothing_is_left_does_not_say_that_nothing_is_open(
    ada_client: Client, site: FallbackSite
) -> None:
    page = ada_client.get(reverse("site-list"), {"page": Cursor(("zzz", 1, 1)).encode()}).content.decode()
    assert "Nothing is left behind this place of the list." in page
    assert "No site is open" not in page


def test_the_list_shows_sites_and_its_fragment_alone(ada_client: Client, site: FallbackSite) -> None:
    page = ada_client.get(reverse("site-list"))
    fragment = ada_client.get(reverse("site-list"), headers=HTMX)
    for response in (page, fragment):
        assert site.get_absolute_url().encode() in response.content
    assert b"<html" not in fragment.content


def test_a_list_without_a_match_offers_to_clear(ada_client: Client, site: FallbackSite) -> None:
    response = ada_client.get(reverse("site-list"), {"q": "nowhere"})
    assert b"No site matches" in response.content
    assert b'value="nowhere"' in response.content


def test_the_next_page_keeps_the_filters(ada_client: Client, repository: Repository) -> None:
    names = [f"minitorch_gpu::ops::op{number}" for number in range(60)]
    ingest(repository, make_report([make_result(name, line=i + 1) for i, name in enumerate(names)]))
    response = ada_client.get(reverse("site-list"), {"q": "op", "sort": "symbol"})
    link = next(line for line in response.content.decode().split("<a ") if 'rel="next"' in line)
    assert "q=op" in link
    assert "sort=symbol" in link


def test_a_site_shows_its_four_truths_and_its_rule(ada_client: Client, site: FallbackSite) -> None:
    text = ada_client.get(site.get_absolute_url()).content.decode()
    for heading in ("Scanner", "GPU", "Person", "Plan", "What it does", "Known problems"):
        assert f">{heading}</h" in text
    assert "No GPU run has looked at this site." in text
    assert "downloads the operand" in text


def test_a_site_shows_the_lines_of_its_file_with_the_flagged_ones_marked(
    ada_client: Client, repository: Repository, tmp_path: Path
) -> None:
    result = make_result(line=3)
    ingest(repository, make_report([result]))
    text = ada_client.get(FallbackSite.objects.get().get_absolute_url()).content.decode()
    assert text.count('<tr class="flagged">') == 4, "the snippet, because the folder is not there"
    assert '<span class="hl-kd">let</span>' in text


@pytest.mark.parametrize(
    ("rule_id", "form", "message", "now"),
    [
        ("FT009", "untested-backward", "no test runs this operation on a device", "Now no test runs this"),
        ("FT010", "early-return", "passes without a GPU", "Now the test passes without a GPU"),
    ],
)
def test_a_site_about_a_test_is_answered_with_a_test(
    ada_client: Client, repository: Repository, rule_id: str, form: str, message: str, now: str
) -> None:
    result = make_result("minitorch_gpu::ops::exp", rule_id=rule_id, form=form, message=message)
    ingest(repository, make_report([result]))
    text = ada_client.get(FallbackSite.objects.get().get_absolute_url()).content.decode()
    assert now in text
    assert "So the answer is a test that runs it on the device" in text
    assert "structured error" not in text.partition("pytorch-heading")[2].partition("rule-heading")[0]


def test_code_is_shown_as_text(ada_client: Client, repository: Repository) -> None:
    ingest(repository, make_report([make_result(snippet="<script>alert(1)</script>\n", message="`<b>`")]))
    text = ada_client.get(FallbackSite.objects.get().get_absolute_url()).content.decode()
    assert "<script>alert" not in text
    assert "<code>&lt;b&gt;</code>" in text


def test_a_site_of_a_retired_rule_is_still_shown(ada_client: Client, repository: Repository) -> None:
    ingest(repository, make_report([make_result(rule_id="FT999")], rules=["FT999"]))
    text = ada_client.get(FallbackSite.objects.get().get_absolute_url()).content.decode()
    assert "The scanner has no rule FT999 any more" in text
    assert ada_client.get("/rules/FT999/").status_code == 200


def test_a_step_is_taken_and_shown_with_its_reason(ada_client: Client, site: FallbackSite) -> None:
    response = transition(ada_client, site, reason="a real one")
    assert response.status_code == 302
    text = ada_client.get(site.get_absolute_url()).content.decode()
    assert "The site is accepted now." in text
    assert "a real one" in text


def test_a_refused_step_says_why_and_keeps_what_was_typed(ada_client: Client, site: FallbackSite) -> None:
    response = transition(ada_client, site, to="migrated", reason="I changed it")
    text = response.content.decode()
    assert response.status_code == 422
    assert "The scanner still sees this site." in text
    assert ">\nI changed it</textarea>" in text


def test_a_step_that_is_none_is_refused(ada_client: Client, site: FallbackSite) -> None:
    response = transition(ada_client, site, to="done")
    assert response.status_code == 422


def test_what_is_not_possible_now_is_not_offered(
    ada_client: Client, lea_client: Client, site: FallbackSite
) -> None:
    text = lea_client.get(site.get_absolute_url()).content.decode()
    assert 'value="suppressed"' in text
    assert 'value="migrated"' not in text
    assert 'value="verified"' not in text
    text = ada_client.get(site.get_absolute_url()).content.decode()
    assert 'value="accepted"' in text
    assert 'value="suppressed"' not in text
    assert "Ask for a suppression" in text


def test_a_suppression_is_asked_for_and_ruled_about(
    ada_client: Client, lea_client: Client, site: FallbackSite
) -> None:
    ask = reverse("site-suppression", args=[site.pk])
    refuse = reverse("site-suppression-reject", args=[site.pk])
    listed = reverse("suppression-list", args=[site.repository.slug])
    typed = {"justification": "two numbers, once", "expires_on": "2020-01-01"}
    refused = ada_client.post(ask, typed)
    assert refused.status_code == 409
    assert "two numbers, once</textarea>" in refused.content.decode()
    assert 'value="2020-01-01"' in refused.content.decode()
    assert ada_client.post(ask, {"justification": "x", "expires_on": "soon"}).status_code == 422
    assert ada_client.post(ask, {**typed, "expires_on": "2098-01-01"}).status_code == 302
    assert ada_client.post(refuse, {"reason": "no"}).status_code == 403
    page = lea_client.get(site.get_absolute_url()).content.decode()
    assert "ada asks for it until 2098-01-01: two numbers, once" in page
    assert "two numbers, once" in lea_client.get(listed).content.decode()
    assert 'name="expires_on" value="2098-01-01"' in page
    lea_client.post(refuse, {"reason": "not read", "version": "1"})
    version = SiteMigration.objects.get(site=site).version
    page = lea_client.get(site.get_absolute_url()).content.decode()
    assert "asked for" in page
    assert "You wrote: “not read”" in page
    lea_client.post(refuse, {"reason": "it has a kernel", "version": version})
    page = ada_client.get(site.get_absolute_url()).content.decode()
    assert "was rejected by lea" in page
    assert "it has a kernel" in ada_client.get(f"{listed}?state=ended").content.decode()
    ada_client.post(ask, {"justification": "again"})
    ada_client.post(ask, {"withdraw": "yes"})
    assert "Nothing waits for a ruling." in ada_client.get(f"{listed}?before=x").content.decode()
    ruling = {"to": "suppressed", "reason": "fine", "expires_on": "2098-01-01", "version": str(version + 3)}
    assert transition(lea_client, site, **ruling).status_code == 302
    text = lea_client.get(f"{listed}?state=in-force").content.decode()
    assert "2098-01-01" in text
    assert "had asked" not in text
    counted = re.findall(r"<b>(\d+)</b> ([A-Z][a-z ]+)</a>", text)
    assert counted == [("0", "Asked for"), ("1", "In force"), ("2", "Ended or rejected")]


def test_what_was_asked_stays_beside_the_ruling(
    ada_client: Client, lea_client: Client, site: FallbackSite
) -> None:
    ada_client.post(reverse("site-suppression", args=[site.pk]), {"justification": "two numbers, <once>"})
    version = SiteMigration.objects.get(site=site).version
    transition(lea_client, site, to="suppressed", reason="until the kernel is here", version=str(version))
    page = ada_client.get(site.get_absolute_url()).content.decode()
    assert "until the kernel is here" in page
    assert "ada had asked for it: two numbers, &lt;once&gt;" in page
    listed = reverse("suppression-list", args=[site.repository.slug])
    assert (
        "ada had asked: two numbers, &lt;once&gt;"
        in ada_client.get(f"{listed}?state=in-force").content.decode()
    )


def test_a_step_on_an_old_page_changes_nothing(ada_client: Client, site: FallbackSite, ada: User) -> None:
    site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada)
    response = transition(ada_client, site, to="in-progress", reason="no", version=1)
    assert response.status_code == 409
    site.migration.refresh_from_db()
    assert site.migration.status == "accepted"


def test_a_comment_is_kept_and_shown_as_text(ada_client: Client, site: FallbackSite) -> None:
    address = reverse("site-comment", args=[site.pk])
    response = ada_client.post(address, {"text": "see <b>this</b>"})
    comment = Comment.objects.get()
    assert response["Location"].endswith(f"#comment-{comment.pk}")
    assert b"see &lt;b&gt;this&lt;/b&gt;" in ada_client.get(site.get_absolute_url()).content


def test_an_empty_comment_is_refused(ada_client: Client, site: FallbackSite) -> None:
    response = ada_client.post(reverse("site-comment", args=[site.pk]), {"text": "  "})
    assert response.status_code == 422
    assert b"Write something first." in response.content


def test_a_button_pressed_twice_is_one_comment(ada_client: Client, site: FallbackSite) -> None:
    address = reverse("site-comment", args=[site.pk])
    places = [ada_client.post(address, {"text": text})["Location"] for text in ("yes", "yes", "no", "yes")]
    assert places[0] == places[1]
    assert len(set(places)) == Comment.objects.count() == 3


def test_a_person_takes_a_site_and_gives_it_back(ada_client: Client, ada: User, site: FallbackSite) -> None:
    address = reverse("site-assign", args=[site.pk])
    assert ada_client.post(address, {"assignee": "ada", "version": 1})["Location"] == site.get_absolute_url()
    site.migration.refresh_from_db()
    assert (site.migration.assignee, site.migration.version) == (ada, 2)
    assert ada_client.post(address, {"assignee": "", "version": 1}).status_code == 409
    refused = ada_client.post(address, {"assignee": "eve", "version": 2})
    assert (refused.status_code, b"Nobody has this name." in refused.content) == (422, True)
    assert ada_client.post(address, {"assignee": "", "version": 2}).status_code == 302
    site.migration.refresh_from_db()
    assert site.migration.assignee is None


@pytest.mark.parametrize(("reason", "status"), [("two numbers", "accepted"), ("", "rejected")])
def test_what_the_source_itself_suppresses_is_shown_as_that(
    ada_client: Client, repository: Repository, reason: str, status: str
) -> None:
    said = Suppression("inSource", status, reason, Region(9, 1, 9, 30))
    ingest(repository, make_report([make_result(suppressions=(said,))]))
    page = ada_client.get(FallbackSite.objects.get().get_absolute_url()).content.decode()
    is_accepted = status == "accepted"
    assert ("suppressed in the source" in page) is is_accepted
    assert ("two numbers — the comment in line 9" in page) is is_accepted
    assert ("The comment in line 9 allows this without a reason" in page) is not is_accepted
    assert ("Nobody ruled that it stays as it is." in page) is not is_accepted
