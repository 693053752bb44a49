"""Measure the search: `python -m benchmarks.search [--sites 100000] [--entries 5000]`.

Sites are named after PyTorch's operators, entries are made of sentences of the policy, all drawn with a
stated seed; PostgreSQL and gunicorn run as `make run` starts them. The thirty questions of
`search_questions.toml`, and as many symbols, half of them misspelt, are asked in turns over HTTP, one at a
time. Of several rounds the best counts, as the machine may do other things. What keeping the index up costs
is told beside: to build it, when nothing changed, and after a scan with one new site.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from audit.parity.catalogue import newest
from audit.policy.clauses import load_policy
from audit.scanner.report import Result
from benchmarks.capability_pages import ask, queries, server, session
from benchmarks.database import database
from benchmarks.ingest import report, result
from benchmarks.search_questions import questions

BAR_MS, BAR_QUERIES = 100.0, 12
SYMBOLS = 30


def sites(count: int, draw: random.Random) -> Iterator[Result]:
    """Yield results in functions that are named after operators."""
    bases = sorted(base for base in newest().by_base if not base.startswith("_"))
    for number in range(count):
        one = result(number)
        name = f"gpu_{draw.choice(bases)}_{draw.choice(('f32', 'f64', 'backward', 'into'))}"
        module = one.symbol.rpartition("::")[0]
        yield one._replace(symbol=f"{module}::{name}_{number % 97}")


def entries(count: int, draw: random.Random) -> None:
    """Store published entries that are made of the policy's sentences."""
    from django.contrib.auth.models import User

    from audit.models import KnowledgeEntry

    author = User.objects.create_user("author")
    sentences = [
        sentence
        for clause in load_policy().clauses
        for sentence in f"{clause.text} {clause.reason} {clause.pytorch}".split(". ")
    ]
    bases = sorted(newest().by_base)
    KnowledgeEntry.objects.bulk_create(
        KnowledgeEntry(
            title=f"{draw.choice(bases)} in crate {draw.randrange(20)}: note {number}",
            text=". ".join(draw.sample(sentences, 12)),
            published_number=1,
            latest_number=1,
            created_by=author,
        )
        for number in range(count)
    )


def asked(symbols: Sequence[str], draw: random.Random) -> list[str]:
    """Return the addresses: questions, symbols, and symbols with two letters exchanged."""
    texts = [one.asks for part in ("question", "held_out") for one in questions(part)]
    for number, symbol in enumerate(draw.sample(symbols, SYMBOLS)):
        name = symbol.rpartition("::")[2]
        at = draw.randrange(4, len(name) - 2)
        swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        texts.append(swapped if number % 2 else name)
    return [f"/search/?{urlencode({'q': text})}" for text in texts]


def measure(port: int, addresses: Sequence[str], cookie: str, rounds: int) -> dict[str, float]:
    """Return the best of the rounds for each address, in milliseconds."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for address in addresses:
            began = time.perf_counter()
            status, _ = ask(port, address, cookie)
            taken = 1000 * (time.perf_counter() - began)
            if status != 200:
                raise RuntimeError(f"{address} answered {status}")
            best[address] = min(taken, best.get(address, taken))
    return best


def timed(kinds: Sequence[str] | None = None) -> str:
    """Bring the index up to date; tell how many documents were written, and the seconds."""
    from migrations_tracker.services.search import search_refresh

    began = time.perf_counter()
    changed = search_refresh(kinds=kinds)
    return f"{sum(changed.values())} documents in {time.perf_counter() - began:.2f} s"


def main() -> int:
    """Print what was measured; exit 1 when it is over a bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,testserver")
    draw = random.Random(options.seed)
    with database():
        from django.db import connection

        from tests.factories import ingest, make_repository

        repository = make_repository()
        found = list(sites(options.sites, draw))
        ingest(repository, report(found))
        entries(options.entries, draw)
        print(f"{options.sites} sites, {options.entries} entries, seed {options.seed}")
        print(f"index built: {timed()}")
        print(f"nothing changed: {timed()}")
        ingest(repository, report([*found, result(options.sites)._replace(symbol="crate_1::ops::gpu_new")]))
        print(f"one new site: {timed(['site', 'unit'])}")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        cookie = session()
        addresses = asked([one.symbol for one in found], draw)
        with server(cookie) as port:
            best = measure(port, addresses, cookie, options.rounds)
        most = max(queries(address, cookie) for address in addresses[::7])
    p95 = statistics.quantiles(best.values(), n=20)[-1]
    worst = max(best, key=best.__getitem__)
    print(
        f"{len(best)} searches, best of {options.rounds} rounds: "
        f"median {statistics.median(best.values()):.1f} ms, p95 {p95:.1f} ms, at most {most} queries; "
        f"slowest {best[worst]:.1f} ms: {worst}"
    )
    return 0 if p95 < BAR_MS and most <= BAR_QUERIES else 1


if __name__ == "__main__":
    sys.exit(main())
