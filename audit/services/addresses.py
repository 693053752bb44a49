"""What people write for where a repository is, and what the administrator lets be read."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from audit.errors import RepositoryNotUsableError
from audit.models import RepositoryKind
from audit.services.git_repository import is_git_repository

# What git can be asked to speak; `file` is also a folder on this machine. `ext` and `fd` run programs.
KNOWN_SCHEMES = ("https", "http", "ssh", "git", "file")
MAX_LOCATION_LENGTH = 1000
# Not files, but what the kernel says of itself: reading them all never ends.
UNREAL_FOLDERS = (Path("/proc"), Path("/sys"), Path("/dev"))


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


def location_from_here(text: str) -> str:
    """Make a path that is meant from where a command runs absolute; leave everything else as it is."""
    path = Path(text)
    return str(path.absolute()) if text and path.exists() else text


def location_allow(location: str) -> None:
    """Raise unless the administrator lets a location be read, today: what is allowed may have changed."""
    if "://" not in location:
        _allow_path(Path(location))
        return
    parts = urlsplit(location)
    schemes = schemes_allowed()
    if parts.scheme not in schemes:
        raise RepositoryNotUsableError(
            f"`{parts.scheme}` addresses are not fetched. Use one of {', '.join(schemes)}; the administrator "
            "sets them with REPOSITORY_SCHEMES."
        )
    if parts.scheme == "file":
        _allow_path(Path(parts.path))
        return
    patterns = settings.REPOSITORY_HOSTS
    if patterns and not any(fnmatch(_host_of(parts), pattern.lower()) for pattern in patterns):
        raise RepositoryNotUsableError(
            f"Nothing is fetched from `{_host_of(parts)}`. The administrator allows "
            f"{', '.join(f'`{pattern}`' for pattern in patterns)}, with REPOSITORY_HOSTS."
        )


def schemes_allowed() -> tuple[str, ...]:
    """List the schemes that the administrator allows, of those that git may be asked to speak."""
    return tuple(scheme for scheme in KNOWN_SCHEMES if scheme in settings.REPOSITORY_SCHEMES)


def _host_of(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def _allow_path(path: Path) -> None:
    if "file" not in schemes_allowed():
        raise RepositoryNotUsableError(
            "Folders on this machine are not read: `file` is not among REPOSITORY_SCHEMES. Give a URL."
        )
    roots = settings.REPOSITORY_PATHS
    resolved = path.resolve()
    if roots and not any(resolved.is_relative_to(Path(root).resolve()) for root in roots):
        raise RepositoryNotUsableError(
            f"`{path}` lies outside the folders that the administrator lets be read: "
            f"{', '.join(f'`{root}`' for root in roots)}, set with REPOSITORY_PATHS."
        )


def _checked_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError as error:
        raise RepositoryNotUsableError(f"`{text}` is no URL: {error}.") from error
    # A token is often written where the name stands; over ssh a name is only a name.
    if parts.password or (parts.scheme in {"https", "http"} and parts.username is not None):
        raise RepositoryNotUsableError(
            "The URL holds a password or a token, which would be stored with it. Leave it out, and name "
            "credentials in the repository's settings."
        )
    location_allow(text)
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
    if not text.startswith(("/", "~")):
        raise RepositoryNotUsableError(
            f"`{text}` is no absolute path, and the pages stand in no folder. Begin with `/`, as in "
            "`/srv/project`, or give a URL."
        )
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
    if not is_repository:
        _refuse_whole_disk(path)
    _allow_path(path)
    if is_repository:
        if path.name == ".git":
            path = path.parent
        return RepositoryKind.GIT_PATH, str(path)
    return RepositoryKind.FOLDER, str(path)


def _refuse_whole_disk(path: Path) -> None:
    if path.parent == path:
        raise RepositoryNotUsableError(
            f"`{path}` is the whole disk. Give the folder of one git repository or Cargo workspace."
        )
    if any(path.is_relative_to(folder) for folder in UNREAL_FOLDERS):
        raise RepositoryNotUsableError(
            f"`{path}` holds no files, but what the system says of itself. Give the folder of a workspace."
        )
