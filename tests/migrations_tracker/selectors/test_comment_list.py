"""Comments as pages show them: some in full, of the others who wrote them and when."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from audit.models import FallbackSite
from migrations_tracker.models import Comment
from migrations_tracker.roles import Role
from migrations_tracker.selectors.comment_list import SHOWN, comment_page, comments_of
from migrations_tracker.services.comments import comment_create
from tests.factories import ingest, make_report, make_repository, make_result, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> FallbackSite:
    ingest(make_repository(), make_report([make_result()]))
    return FallbackSite.objects.get()


@pytest.fixture
def ada() -> User:
    return make_user()


def say(site: FallbackSite, author: User, count: int) -> list[Comment]:
    texts = (f"Remark **{number}**." for number in range(count))
    return Comment.objects.bulk_create(Comment(site=site, author=author, text=text) for text in texts)


@pytest.mark.parametrize("count", [0, 1, SHOWN])
def test_few_are_shown_whole_and_take_one_query(
    site: FallbackSite, ada: User, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    said = say(site, ada, count)
    with django_assert_num_queries(1):
        page = comment_page(subject=site)
    assert list(page.shown) == said
    assert not page.earlier
    assert not page.later


def test_each_comment_is_there_once_and_in_order_whichever_is_asked_for(
    site: FallbackSite, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    said = say(site, ada, 3 * SHOWN)
    for asked in ("", "x", "0", "9" * 30, *(str(one.pk) for one in said)):
        with django_assert_num_queries(2):
            page = comment_page(subject=site, through=asked)
        before, after = [one.pk for one in page.earlier], [one.pk for one in page.later]
        assert [*before, *(one.pk for one in page.shown), *after] == [one.pk for one in said]
        assert len(page.shown) <= SHOWN
        if asked in {str(one.pk) for one in said}:
            assert page.shown[-1].pk == int(asked)
    newest = comment_page(subject=site)
    told = [(line.author, line.created_at) for line in newest.earlier]
    assert told == [("ada", one.created_at) for one in said[:-SHOWN]]
    assert list(newest.shown) == said[-SHOWN:]


def test_the_anchor_of_each_is_on_the_page_and_leads_to_its_text(
    client: Client, site: FallbackSite, ada: User
) -> None:
    """As mails have it: an address with the comment's anchor, of which the server is told nothing."""
    said = say(site, ada, 3 * SHOWN)
    client.force_login(ada)
    text = client.get(site.get_absolute_url()).content.decode()
    for one in said:
        assert text.count(f'id="comment-{one.pk}"') == 1
    assert f"{2 * SHOWN} earlier" in text
    assert "Remark <strong>0</strong>." not in text
    oldest = re.search(rf'<li id="comment-{said[0].pk}"><a href="([^"]+)">ada, ', text)
    assert oldest
    assert oldest[1].endswith(f"#comment-{said[0].pk}")
    led_to = client.get(oldest[1]).content.decode()
    assert "Remark <strong>0</strong>." in led_to
    assert f"{3 * SHOWN - 1} later" in led_to
    for one in said:
        assert led_to.count(f'id="comment-{one.pk}"') == 1


def test_who_was_told_and_which_files_stand_there_come_with_it(site: FallbackSite, ada: User) -> None:
    for name in ("zoe", "bob"):
        make_user(name, role=Role.READER)
    comment_create(subject=site, author=ada, text="@zoe @bob look", files=[("log.txt", b"as it was")])
    comment_create(subject=site, author=ada, text="alone")
    first, second = comments_of(subject=site)
    assert first.told == ["bob", "zoe"]  # type: ignore[attr-defined]
    assert [one["name"] for one in first.files] == ["log.txt"]  # type: ignore[attr-defined]
    assert (second.told, second.files) == ([], [])  # type: ignore[attr-defined]


def test_a_comment_that_calls_somebody_and_one_that_called_nobody_yet_look_different(
    client: Client, site: FallbackSite, ada: User
) -> None:
    comment_create(subject=site, author=ada, text="@zoe look at it")
    client.force_login(ada)
    before = client.get(site.get_absolute_url()).content.decode()
    make_user("zoe", role=Role.READER)
    comment_create(subject=site, author=make_user("bob"), text="@zoe look at it")
    after = client.get(site.get_absolute_url()).content.decode()
    called = '<strong class="mention">@zoe</strong> look at it'
    assert (before.count("@zoe look at it"), before.count(called)) == (1, 0)
    assert (after.count("@zoe look at it"), after.count(called)) == (1, 1)
