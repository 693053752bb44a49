"""Adding repositories, and noting their commits and branches."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils.text import slugify

from audit.errors import RepositoryNotUsableError
from audit.models import Branch, Commit, Repository, RepositoryKind
from audit.services.git_repository import ALLOWED_SCHEMES, CommitInfo, is_git_repository

FOLDER_BRANCH = "folder"
MAX_LOCATION_LENGTH = 1000
_ADD_LOCK = 7202


def repository_add(*, location: str, name: str = "", profile: str = "", actor: User | None) -> Repository:
    """Add the repository at a path or URL; adding it again gives the same one.

    Nothing is fetched here: the first scan does that, in the worker.
    """
    kind, location = location_read(location)
    existing = Repository.objects.filter(location=location).first()
    if existing is not None:
        return existing
    name = name.strip() or _name_from(location)
    with transaction.atomic():
        # One at a time, or two of the same name would look for a free address at the same moment.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ADD_LOCK])
        repository, _ = Repository.objects.get_or_create(
            location=location,
            defaults={
                "name": name,
                "slug": _free_slug(name),
                "kind": kind,
                "profile": profile,
                "added_by": actor,
            },
        )
    return repository


def location_read(text: str) -> tuple[RepositoryKind, str]:
    """Tell what a path or URL is, in the form it is kept in."""
    text = text.strip()
    if not text:
        raise RepositoryNotUsableError("Give a URL or the path of a folder.")
    if len(text) > MAX_LOCATION_LENGTH:
        raise RepositoryNotUsableError(f"An address has at most {MAX_LOCATION_LENGTH:,} characters.")
    if "://" in text:
        return RepositoryKind.GIT_URL, _checked_url(text)
    if not text.startswith(("/", "~", ".")) and "@" in text.split(":", 1)[0] and ":" in text:
        user_and_host, path = text.split(":", 1)
        return RepositoryKind.GIT_URL, _checked_url(f"ssh://{user_and_host}/{path.lstrip('/')}")
    return _checked_path(text)


def _checked_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError as error:
        raise RepositoryNotUsableError(f"`{text}` is no URL: {error}.") from error
    if parts.scheme not in ALLOWED_SCHEMES:
        raise RepositoryNotUsableError(
            f"`{parts.scheme}` addresses are not fetched. Use one of {', '.join(ALLOWED_SCHEMES)}."
        )
    # A token is often written where the name stands; over ssh a name is only a name.
    if parts.password or (parts.scheme == "https" and parts.username is not None):
        raise RepositoryNotUsableError(
            "The URL holds a password or a token, which would be stored with it. Leave it out, and give git "
            "its credentials on the worker's machine."
        )
    if parts.scheme == "file":
        if not parts.path.startswith("/") or parts.netloc not in {"", "localhost"}:
            raise RepositoryNotUsableError("A file URL names an absolute path: `file:///srv/project.git`.")
    elif not (parts.hostname and port_is_valid and parts.path.strip("/")) or parts.hostname.startswith("-"):
        raise RepositoryNotUsableError(f"`{text}` names no host and path.")
    if any(character.isspace() or ord(character) < 32 for character in text):
        raise RepositoryNotUsableError("A URL holds no spaces or control characters.")
    return text


def _checked_path(text: str) -> tuple[RepositoryKind, str]:
    if "\0" in text:
        raise RepositoryNotUsableError("A path holds no control characters.")
    try:
        path = Path(text).expanduser().resolve()
        exists, is_folder = path.exists(), path.is_dir()
        is_repository = is_folder and is_git_repository(path)
    except OSError as error:
        raise RepositoryNotUsableError(f"`{text}` can't be read: {error.strerror}.") from error
    except RuntimeError as error:
        # A home folder of nobody, or links that lead in a circle.
        raise RepositoryNotUsableError(f"`{text}` leads nowhere: {error}") from error
    if not is_folder:
        what = "is a file" if exists else "does not exist on this machine"
        raise RepositoryNotUsableError(
            f"`{path}` {what}. Give the folder of a git repository or of a Cargo workspace."
        )
    if is_repository:
        if path.name == ".git":
            path = path.parent
        return RepositoryKind.GIT_PATH, str(path)
    return RepositoryKind.FOLDER, str(path)


def commit_note(*, repository: Repository, info: CommitInfo) -> Commit:
    """Keep what git says about a commit, once."""
    commit, _ = Commit.objects.get_or_create(
        repository=repository,
        object_id=info.object_id,
        defaults={
            "subject": info.subject,
            "author_name": info.author_name,
            "committed_at": info.committed_at,
            "parent_ids": list(info.parent_ids),
        },
    )
    return commit


def branch_note(*, repository: Repository, name: str, is_default: bool) -> Branch:
    """Keep a branch by name, once, and remember the default one."""
    branch, _ = Branch.objects.get_or_create(repository=repository, name=name)
    if is_default and repository.default_branch != name:
        repository.default_branch = name
        repository.save(update_fields=["default_branch"])
    return branch


def _name_from(location: str) -> str:
    last = [part for part in location.rstrip("/").split("/") if part]
    name = last[-1].removesuffix(".git") if last else location
    if name in {"", "repo"} and len(last) > 1:
        name = last[-2]
    return name[:100] or "repository"


def _free_slug(name: str) -> str:
    base = slugify(name)[:90] or "repository"
    taken = set(Repository.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    if base not in taken:
        return base
    return next(slug for number in range(2, len(taken) + 3) if (slug := f"{base}-{number}") not in taken)
