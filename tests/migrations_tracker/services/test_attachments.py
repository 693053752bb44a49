"""Files beside comments: which are taken, how they are given back, and who takes them away."""

from __future__ import annotations

import gzip

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from audit.models import FallbackSite
from migrations_tracker import uploads
from migrations_tracker.attachment_types import TYPES, file_name, type_of
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Attachment, Comment
from migrations_tracker.roles import Role
from migrations_tracker.services.attachments import MAX_BYTES
from migrations_tracker.services.comments import comment_create
from tests.factories import ingest, make_report, make_repository, make_result, make_user

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


@pytest.fixture
def site(db: None) -> FallbackSite:
    ingest(make_repository(), make_report([make_result()]))
    return FallbackSite.objects.select_related("repository").get()


@pytest.fixture
def ada(site: FallbackSite) -> User:
    return make_user("ada")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("page.html", b"<script>1</script>"),
        ("a.svg", b"<svg/>"),
        ("a.txt.exe", b"MZ"),
        ("noending", b"x"),
        ("a.png", b"<html>"),
        ("a.pdf", b"<html>"),
        ("a.txt", b"\xff\xfe"),
        ("a.log", b"a\0b"),
        ("a.zip", b"x"),
        ("a.txt", b""),
        ("a.txt", b"x" * (MAX_BYTES + 1)),
        ("...", b"x"),
        ("a" * 200 + ".txt", b"x"),
    ],
)
def test_a_file_that_may_not_be_attached_is_refused_and_no_comment_is_made(
    site: FallbackSite, ada: User, name: str, data: bytes
) -> None:
    with pytest.raises(PlanError):
        comment_create(subject=site, author=ada, text="see", files=[("good.txt", b"x"), (name, data)])
    assert not Comment.objects.exists()
    assert not Attachment.objects.exists()


@pytest.mark.parametrize(
    ("name", "data"), [("a.PNG", PNG), ("a.log.gz", gzip.compress(b"x", mtime=0)), ("ä.md", b"x")]
)
def test_a_file_that_is_what_its_name_says_is_taken(name: str, data: bytes) -> None:
    assert type_of(name, data).media_type not in {"text/html", "image/svg+xml"}


@given(st.text(max_size=40))
def test_a_name_holds_no_folder_and_nothing_that_can_t_be_printed(text: str) -> None:
    try:
        name = file_name(text)
    except PlanError:
        return
    assert name.isprintable()
    assert not {"/", "\\", "\r", "\n"} & set(name)
    assert not name.startswith(".")


def test_no_type_is_one_that_browsers_run() -> None:
    served = {one.media_type for one in TYPES.values()}
    assert not {one for one in served if "html" in one or "svg" in one or "xml" in one or "script" in one}


def test_more_than_a_few_files_or_more_than_the_repository_may_have_are_refused(
    site: FallbackSite, ada: User, settings: Settings
) -> None:
    with pytest.raises(PlanError, match="At most 5"):
        comment_create(subject=site, author=ada, text="x", files=[("a.txt", b"x")] * 6)
    settings.ATTACHMENTS_MAX_MB = 1
    comment_create(subject=site, author=ada, text="one", files=[("a.txt", b"x" * 900_000)])
    with pytest.raises(PlanError, match="more than 1 MB"):
        comment_create(subject=site, author=ada, text="two", files=[("a.txt", b"x" * 200_000)])


def test_the_same_words_with_another_file_are_another_comment(site: FallbackSite, ada: User) -> None:
    for name, data in (("a.log", b"one"), ("a.log", b"two"), ("a.log", b"two"), ("b.log", b"two")):
        comment_create(subject=site, author=ada, text="The log.", files=[(name, data)])
    kept = Attachment.objects.order_by("pk").values_list("name", "size_bytes", "comment__text")
    assert [name for name, _, _ in kept] == ["a.log", "a.log", "b.log"]
    assert Comment.objects.count() == 3
    comment_create(subject=site, author=ada, text="The log.")
    assert Comment.objects.count() == 4


class TestThePage:
    def test_takes_a_file_and_gives_it_back_as_one_to_save(
        self, site: FallbackSite, ada: User, client: Client
    ) -> None:
        client.force_login(ada)
        file = SimpleUploadedFile("../tëst <b>.log", b"launched relu")
        page = client.post(
            reverse("site-comment", args=[site.pk]), {"text": "proof", "files": file}, follow=True
        ).content.decode()
        assert "tëst &lt;b&gt;.log" in page
        assert "Take away" not in page
        answer = client.get(reverse("attachment-file", args=[Attachment.objects.get().pk]))
        assert answer.content == b"launched relu"
        assert answer["Content-Disposition"].startswith("attachment; filename*=utf-8''t%C3%ABst")
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer["Content-Type"] == "text/plain; charset=utf-8"

    def test_keeps_what_was_typed_when_a_file_is_refused(
        self, site: FallbackSite, ada: User, client: Client
    ) -> None:
        client.force_login(ada)
        file = SimpleUploadedFile("x.svg", b"<svg/>")
        answer = client.post(reverse("site-comment", args=[site.pk]), {"text": "my words", "files": file})
        assert answer.status_code == 422
        assert "my words" in answer.content.decode()
        assert "x.svg" in answer.content.decode()

    def test_is_for_those_who_see_the_repository(self, site: FallbackSite, ada: User, client: Client) -> None:
        comment_create(subject=site, author=ada, text="x", files=[("a.txt", b"x")])
        address = reverse("attachment-file", args=[Attachment.objects.get().pk])
        assert client.get(address).status_code == 302
        client.force_login(make_user("eve", role=None))
        assert client.get(address).status_code == 404

    def test_lets_a_lead_take_it_away_and_keeps_that(
        self, site: FallbackSite, ada: User, client: Client
    ) -> None:
        comment_create(subject=site, author=ada, text="x", files=[("a.txt", b"secret")])
        address = reverse("attachment-remove", args=[Attachment.objects.get().pk])
        client.force_login(ada)
        assert client.post(address).status_code == 403
        lena = make_user("lena", role=Role.LEAD)
        client.force_login(lena)
        assert "Take away" in client.get(site.get_absolute_url()).content.decode()
        assert "a.txt is taken away" in client.post(address, follow=True).content.decode()
        assert not Attachment.objects.exists()
        events = apps.get_model("migrations_tracker.AttachmentEvent")._default_manager.order_by("pgh_id")
        kept = list(events.values_list("pgh_label", "name", "size_bytes", "pgh_context__metadata__user"))
        assert kept[-1] == ("removed", "a.txt", 6, lena.pk)
        assert "content" not in {field.name for field in events.model._meta.get_fields()}

    def test_refuses_a_form_that_is_too_large_before_it_is_read(
        self, site: FallbackSite, ada: User, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(uploads, "MAX_UPLOAD", 1000)
        client.force_login(ada)
        file = SimpleUploadedFile("a.txt", b"x" * 2000)
        answer = client.post(reverse("site-comment", args=[site.pk]), {"text": "x", "files": file})
        assert answer.status_code == 400
        assert not Comment.objects.exists()
