"""`python -m migrations_tracker.cli`: sites, work units and proof from a terminal.

Speaks to the API of `FERROAUDIT_URL` with the token in `FERROAUDIT_TOKEN`; the standard library is all it
needs. Ends with 0, with 1 where the server refuses, and with 2 where it can't be reached or the command is
wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

REFUSED, UNREACHABLE = 1, 2
TIMEOUT_SECONDS = 30
NARROWED_BY = ("rule", "form", "crate", "level", "status", "q")
PAGES_AT_MOST = 1000


class CommandError(Exception):
    """The command can't go on; the message says why, and `status` is what the program ends with."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _NoRedirects(HTTPRedirectHandler):
    """Follows nowhere: the token would go along, to whichever host is named."""

    def redirect_request(self, *given: Any) -> None:
        """Leave the answer as it is: an error."""


_ASKING = build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True)
class Server:
    """Where the API is, and the token that it is asked with."""

    address: str
    token: str

    def get(self, path: str, **query: object) -> Any:
        """Read something."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return self._send("GET", f"{path}?{urlencode(given)}" if given else path, None)

    def send(self, method: str, path: str, body: object) -> Any:
        """Change something. The key lets the server know a message that arrives twice."""
        return self._send(method, path, json.dumps(body).encode())

    def send_file(self, path: str, name: str, content: bytes, text: str) -> Any:
        """Send a file with a text, as a form does."""
        boundary = uuid.uuid4().hex
        plain = "".join(one if one.isprintable() and one not in '"\\' else "_" for one in name)
        body = (
            (
                f'--{boundary}\r\nContent-Disposition: form-data; name="text"\r\n\r\n{text}\r\n'
                f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{plain}"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n"
            ).encode()
            + content
            + f"\r\n--{boundary}--\r\n".encode()
        )
        return self._send("POST", path, body, f"multipart/form-data; boundary={boundary}")

    def _send(self, method: str, path: str, body: bytes | None, media_type: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers |= {"Content-Type": media_type, "Idempotency-Key": str(uuid.uuid4())}
        # The address was checked to be http or https.
        request = Request(f"{self.address}/api/v1/{path}", body, headers, method=method)  # noqa: S310
        try:
            with _ASKING.open(request, timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except HTTPError as error:
            raise CommandError(_detail(error), REFUSED) from error
        except (URLError, OSError) as error:
            raise CommandError(f"{self.address} can't be reached: {error}", UNREACHABLE) from error
        except ValueError as error:
            raise CommandError(f"{self.address} did not answer in JSON.", UNREACHABLE) from error


def _detail(error: HTTPError) -> str:
    try:
        problem = json.load(error)
        places = [
            f"{'.'.join(str(part) for part in one['place'])}: {one['message']}"
            for one in problem.get("errors") or ()
        ]
        return "\n".join([problem["detail"], *places])
    except (ValueError, KeyError, TypeError):
        return f"The server answered {error.code} {error.reason}."


def sites(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """List sites, a line each."""
    query = {name: getattr(arguments, name) for name in (*NARROWED_BY, "seen")}
    path, found, cursor = f"repositories/{quote(arguments.repository)}/sites", [], ""
    for _ in range(PAGES_AT_MOST):
        page = server.get(path, cursor=cursor, **query)
        found += page["items"]
        cursor = page["next"]
        if not cursor or len(found) >= arguments.limit:
            break
    found = found[: arguments.limit]
    return found, "\n".join(_site_line(site) for site in found)


def site(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Show a site: why it is one, what PyTorch does, and which steps may be taken."""
    found = server.get(f"sites/{arguments.number}")
    found["proofs"] = server.get(f"sites/{arguments.number}/proofs")
    return found, _site_text(found)


def move(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Move a site's migration on."""
    body = {"to": arguments.to, "reason": arguments.reason, "version": _version(server, arguments.number)}
    moved = server.send("POST", f"sites/{arguments.number}/transitions", body)
    return moved, f"Site {arguments.number} is {moved['status']}."


def assign(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Give a site to somebody, or with `-` to nobody."""
    name = None if arguments.name == "-" else arguments.name
    body = {"assignee": name, "version": _version(server, arguments.number)}
    owned = server.send("PUT", f"sites/{arguments.number}/assignee", body)
    return owned, f"Site {arguments.number} belongs to {owned['assignee'] or 'nobody'}."


def comment(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Comment on a site; `-` reads the text from standard input."""
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    made = server.send("POST", f"sites/{arguments.number}/comments", {"text": text})
    return made, f"Comment {made['id']} on site {arguments.number}."


def attach(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Comment on a site with a file beside it, such as the log of a test."""
    try:
        content = Path(arguments.file).read_bytes()
    except OSError as error:
        raise CommandError(f"{arguments.file} can't be read: {error}", UNREACHABLE) from error
    name = Path(arguments.file).name
    made = server.send_file(f"sites/{arguments.number}/attachments", name, content, arguments.text or name)
    return made, f"Comment {made['id']} on site {arguments.number} with {name}."


def verify(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Ask for a GPU run of the tests that reach a site."""
    body = {"target": "site", "site": arguments.number, "revision": arguments.revision}
    asked = server.send("POST", f"repositories/{quote(arguments.repository)}/verifications", body)
    return asked, f"Verification request {asked['id']} is {asked['state']}: {server.address}{asked['url']}"


def following(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """List the work units that come next."""
    path = f"repositories/{quote(arguments.repository)}/next-units"
    found = server.get(path, person=arguments.person)
    return found, "\n".join(f"{unit['id']:>6}  {unit['status']:<10} {unit['title']}" for unit in found)


def unit(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Show a work unit with its rationale, as Markdown."""
    found = server.get(f"units/{arguments.number}")
    return found, f"# {found['title']}\n\n{found['text']}"


def start(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Begin a work unit."""
    version = server.get(f"units/{arguments.number}")["version"]
    body = {"person": arguments.person, "version": version}
    begun = server.send("POST", f"units/{arguments.number}/start", body)
    return begun, f"Unit {arguments.number} is {begun['status']}, by {begun['person']}."


def finish(server: Server, arguments: argparse.Namespace) -> tuple[Any, str]:
    """Finish a work unit whose sites are gone."""
    version = server.get(f"units/{arguments.number}")["version"]
    body = {"hours": arguments.hours, "reason": arguments.reason, "version": version}
    done = server.send("POST", f"units/{arguments.number}/finish", body)
    return done, f"Unit {arguments.number} is {done['status']}."


def _version(server: Server, number: int) -> int:
    migration = server.get(f"sites/{number}")["migration"]
    if migration is None:
        raise CommandError("No scan of the default branch has found this site.", REFUSED)
    version: int = migration["version"]
    return version


def _site_line(found: dict[str, Any]) -> str:
    status = found["migration"]["status"] if found["migration"] else "-"
    place = f"{found['path']}:{found['start_line']}"
    return f"{found['id']:>6}  {found['rule_id']} {found['level']:<7} {status:<11} {place}  {found['symbol']}"


def _site_text(found: dict[str, Any]) -> str:
    status = found["migration"]["status"] if found["migration"] else "not planned"
    seen = "still there" if found["is_open"] else f"gone ({found['outcome'] or 'outcome not told'})"
    lines = [
        f"Site {found['id']}: {found['rule_id']} {found['rule_name']} ({found['level']})",
        f"{found['path']}:{found['start_line']}  {found['symbol']}",
        f"Scanner: {seen}. Plan: {status}. Clauses: {', '.join(found['clauses']) or '-'}.",
        "",
        found["message"],
        "",
        *(
            f"  {step['role']}: {step['path']}:{step['region']['start_line']} {step['message']}"
            for step in found["evidence"]
        ),
        "",
        found["snippet"].rstrip(),
        "",
        *(f"{text}\n" for text in found["rationale"]),
    ]
    if found["suppression"] is not None:
        lines.append(f"Suppressed: {found['suppression']}")
    lines += [f"Suppressed in the source: {said}" for said in found.get("allowed_in_source", ())]
    for proof in found["proofs"]:
        holds = "expired" if proof["expired"] else "proof" if proof["is_proof"] else "no proof"
        lines.append(f"{proof['verdict']} ({holds}): {proof['test']} of {proof['crate']}")
    lines.append(f"Next steps: {', '.join(map(_step, found['choices'])) or 'none'}.")
    return "\n".join(lines)


def _step(choice: Mapping[str, Any]) -> str:
    if choice["needs_commit"]:
        return f"{choice['to']} (with the commit that settled it as the reason)"
    return f"{choice['to']} (with a reason)" if choice["needs_reason"] else str(choice["to"])


Command = Callable[[Server, argparse.Namespace], tuple[Any, str]]


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m migrations_tracker.cli",
        description="Sites, work units and proof from a terminal.",
        epilog="FERROAUDIT_URL names the server, FERROAUDIT_TOKEN holds a token of yours.",
    )
    top.add_argument("--json", action="store_true", help="print what the server answered")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, *numbered: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=(command.__doc__ or "").splitlines()[0])
        made.set_defaults(command=command)
        for one in numbered:
            made.add_argument(one, type=int)
        return made

    listed = add("sites", sites)
    listed.add_argument("repository")
    for name in NARROWED_BY:
        listed.add_argument(f"--{name}", default="")
    listed.add_argument("--seen", choices=("open", "absent", "left", "any"), default="open")
    listed.add_argument("--limit", type=int, default=50)
    add("site", site, "number")
    moved = add("move", move, "number")
    moved.add_argument("to")
    moved.add_argument("--reason", default="")
    add("assign", assign, "number").add_argument("name")
    add("comment", comment, "number").add_argument("text")
    attached = add("attach", attach, "number")
    attached.add_argument("file")
    attached.add_argument("--text", default="")
    verified = add("verify", verify, "number")
    verified.add_argument("repository")
    verified.add_argument("--revision", default="")
    coming = add("next", following)
    coming.add_argument("repository")
    coming.add_argument("--person", default="")
    add("unit", unit, "number")
    add("start", start, "number").add_argument("person")
    finished = add("finish", finish, "number")
    finished.add_argument("hours", type=float)
    finished.add_argument("--reason", default="")
    return top


def _server() -> Server:
    address = os.environ.get("FERROAUDIT_URL", "http://localhost:8000").rstrip("/")
    token = os.environ.get("FERROAUDIT_TOKEN", "").strip()
    if urlsplit(address).scheme not in ("http", "https"):
        raise CommandError(f"FERROAUDIT_URL is no web address: {address}", UNREACHABLE)
    if not token:
        raise CommandError("FERROAUDIT_TOKEN is not set. Make a token on your account's page.", UNREACHABLE)
    return Server(address, token)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return what the program ends with."""
    given = parser().parse_args(arguments)
    try:
        answer, text = given.command(_server(), given)
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
        return error.status
    sys.stdout.write(f"{json.dumps(answer, indent=2, ensure_ascii=False) if given.json else text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
