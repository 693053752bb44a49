"""What a scanner upgrade would change is told before it does."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from audit.models import Branch, FallbackSite, Lineage, Repository, Result, ScanRun, SiteState
from audit.rules import RULES
from audit.services import rescan_preview as previewing
from audit.services.repositories import repository_add
from audit.services.rescan_preview import rescan_preview
from tests.audit.services.test_branch_history import LIB, MANIFEST, SILENT, code, scan
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.REPOSITORIES_DIR = tmp_path / "clones"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    tree = tmp_path / "minitorch"
    commit_files(tree, {LIB: code(relu=SILENT, gelu=SILENT), "minitorch-gpu/Cargo.toml": MANIFEST})
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    return repository


def stored() -> list[object]:
    models = (ScanRun, Result, Lineage, FallbackSite, SiteState)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def test_the_same_scanner_changes_nothing(repository: Repository) -> None:
    before = stored()
    preview = rescan_preview(branch=Branch.objects.get())
    assert preview.changes_nothing
    assert preview.kept == 4
    assert dict(preview.passes) == {"fingerprint": 4}
    assert stored() == before


def test_a_rule_that_finds_less_is_told_and_closes_nothing(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Blind(type(next(rule for rule in RULES if rule.id == "FT001"))):  # type: ignore[misc]
        def check(self, judgement: object) -> list[object]:
            return []

    rules = tuple(Blind() if rule.id == "FT001" else rule for rule in RULES)
    monkeypatch.setattr(previewing, "RULES", rules)
    before = stored()
    preview = rescan_preview(branch=Branch.objects.get())
    assert (preview.closed["FT001"], preview.kept) == (2, 2)
    assert stored() == before


def test_the_command_tells_it(repository: Repository) -> None:
    out = StringIO()
    call_command("rescan", repository.slug, "--dry-run", stdout=out)
    assert "4 open sites stay open." in out.getvalue()
    assert "Nothing would change." in out.getvalue()


def test_an_unknown_repository_is_an_error() -> None:
    with pytest.raises(CommandError, match="No repository `nothing`"):
        call_command("rescan", "nothing", "--dry-run")
