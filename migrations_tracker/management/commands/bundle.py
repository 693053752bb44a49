"""`manage.py bundle`: build a crate's tests and keep them for runners, or keep a bundle built elsewhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.errors import AuditError
from audit.models import Repository
from audit.services.git_repository import commit_resolve, git_dir_of
from migrations_tracker.management.named_repository import repository_named
from workers.errors import MachineryError
from workers.runner.cargo import BuildError, BuildRequest, build_tests, check_out, write_built
from workers.services.bundles import bundle_keep


class Command(BaseCommand):
    """Give runners the test binaries of a commit."""

    help = "Build a crate's tests at a commit into a bundle and keep it, or keep one from a file."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("repository", help="the short name of the repository, as in its page's address")
        parser.add_argument("--file", type=Path, help="a bundle that `python -m workers.runner bundle` wrote")
        parser.add_argument("--rev", default="", help="a branch, tag or commit; else the default branch")
        parser.add_argument("--crate", default="")
        parser.add_argument("--features", default="", help="separated by commas")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build if asked, keep, and print the checksum."""
        repository = repository_named(options["repository"])
        if (options["file"] is None) == (not options["crate"]):
            raise CommandError("Give either --file, or --crate to build.")
        try:
            if options["file"] is not None:
                bundle = bundle_keep(repository=repository, file=options["file"], actor=None)
            else:
                with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
                    # The build runs as another user, who has to pass through.
                    Path(folder).chmod(0o711)
                    file = _built(repository, Path(folder), options)
                    bundle = bundle_keep(repository=repository, file=file, actor=None)
        except (AuditError, MachineryError, BuildError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{bundle.sha256}  {bundle}, {bundle.size_bytes} bytes")


def _built(repository: Repository, folder: Path, options: dict[str, Any]) -> Path:
    commit = commit_resolve(git_dir=git_dir_of(repository), revision=options["rev"]).object_id
    check_out(git_dir_of(repository), commit, folder / "source")
    features = tuple(feature for feature in options["features"].split(",") if feature)
    built = build_tests(
        folder / "source",
        BuildRequest(crate=options["crate"], features=features),
        repository=repository.name,
        commit=commit,
        target_folder=folder / "target",
        work=folder,
    )
    write_built(built, folder / "bundle.tar")
    return folder / "bundle.tar"
