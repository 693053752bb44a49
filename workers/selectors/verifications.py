"""Reading verifications: lists, and what is proved of functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from django.contrib.postgres.aggregates import BoolOr
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict

from audit.models import Commit, Repository
from audit.scanner.proof.mechanical import TestWord
from workers.models import PtxLoad, Verification, VerifiedFunction
from workers.protocol.job import Expect
from workers.protocol.outcome import PROVED, Verdict

PAGE_SIZE = 50
PROOFS_SHOWN = 20
_INVALID_PTX = 218  # CUDA_ERROR_INVALID_PTX
_VERDICTS = frozenset(verdict.value for verdict in Verdict)
_PROOFS = frozenset(verdict.value for verdict in PROVED)
#: With these a run says nothing of the code.
SAYS_NOTHING = frozenset({Verdict.SKIPPED, Verdict.NOT_BUILT, Verdict.NO_DEVICE, Verdict.INCONCLUSIVE})
_TEST = ("verification__crate", "verification__binary", "verification__test")


@dataclass(frozen=True, slots=True)
class VerificationFilters:
    """What narrows the list. `shows` is `nothing-proved`, `without-gpu` or empty for all."""

    shows: str = ""
    verdict: str = ""
    crate: str = ""
    text: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything differs from the plain list."""
        return self != VerificationFilters()

    def without_view(self) -> VerificationFilters:
        """Give the filters of the plain list."""
        return replace(self, shows="")


@dataclass(frozen=True, slots=True)
class VerificationPage:
    """A page of the list; `newer` and `older` are where the neighbours begin, empty at the ends."""

    rows: Sequence[Verification]
    total: int
    newer: str = ""
    older: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """The last word of one test on a function."""

    function: VerifiedFunction
    verification: Verification

    @property
    def is_proof(self) -> bool:
        """Whether the function is proved by it, at the code that stands now."""
        return self.verification.verdict in _PROOFS and self.function.expired_at is None


def filters_read(query: QueryDict) -> VerificationFilters:
    """Read the filters from a URL; a value that is none is left out."""
    shows, verdict = query.get("shows", ""), query.get("verdict", "")
    return VerificationFilters(
        shows=shows if shows in ("nothing-proved", "without-gpu") else "",
        verdict=verdict if verdict in _VERDICTS else "",
        crate=query.get("crate", "").replace("\0", "").strip()[:100],
        text=query.get("q", "").replace("\0", "").strip()[:200],
    )


def verification_list(
    *, repository: Repository, filters: VerificationFilters, page: str = "", size: int = PAGE_SIZE
) -> VerificationPage:
    """Return one page of the newest verification of each test, the newest first.

    `page` is `-ID` for what is older than that row, `ID` for what is newer.
    """
    rows = _narrowed(repository, filters)
    total = rows.count()
    is_forward = not page or page.startswith("-")
    number = page.removeprefix("-")
    if number.isdecimal() and len(number) < 19:
        bound = {"id__lt": int(number)} if is_forward else {"id__gt": int(number)}
        rows = rows.filter(**bound)
    related = rows.select_related("commit", "job__runner").defer("evidence")
    found = list(related.order_by("-id" if is_forward else "id")[: size + 1])
    has_more, found = len(found) > size, found[:size]
    if not is_forward:
        found.reverse()
    if not found:
        return VerificationPage((), total)
    has_newer = bool(page) if is_forward else has_more
    has_older = has_more if is_forward else True
    return VerificationPage(
        found,
        total,
        newer=str(found[0].pk) if has_newer else "",
        older=f"-{found[-1].pk}" if has_older else "",
    )


def verified_crates(*, repository: Repository) -> list[str]:
    """List the crates that have verifications."""
    crates = (
        Verification.objects.filter(repository=repository).order_by("crate").values_list("crate", flat=True)
    )
    return list(crates.distinct())


def proofs_of(*, repository: Repository, symbols: Iterable[str]) -> list[Proof]:
    """Give the last word of each test on functions, what is proof first."""
    found = (
        VerifiedFunction.objects.filter(symbol__in=set(symbols), verification__repository=repository)
        .select_related("verification__commit", "verification__job__runner", "expired_by")
        .defer("verification__evidence")
        .order_by("-verification_id")[: 10 * PROOFS_SHOWN]
    )
    newest: dict[tuple[str, str, str], Proof] = {}
    for function in found:
        test = function.verification
        newest.setdefault((test.crate, test.binary, test.test), Proof(function, test))
    ordered = sorted(newest.values(), key=lambda proof: (not proof.is_proof, -proof.verification.pk))
    return ordered[:PROOFS_SHOWN]


def _narrowed(repository: Repository, filters: VerificationFilters) -> QuerySet[Verification]:
    newer = Verification.objects.filter(
        repository=OuterRef("repository"),
        crate=OuterRef("crate"),
        binary=OuterRef("binary"),
        test=OuterRef("test"),
        id__gt=OuterRef("id"),
    )
    rows = Verification.objects.filter(~Exists(newer), repository=repository)
    if filters.shows == "nothing-proved":
        rows = rows.filter(verdict=Verdict.NO_KERNEL.value).exclude(expectation__kind=Expect.REFUSED.value)
    if filters.shows == "without-gpu":
        rows = rows.filter(passes_without_gpu=True)
    if filters.verdict:
        rows = rows.filter(verdict=filters.verdict)
    if filters.crate:
        rows = rows.filter(crate=filters.crate)
    for word in filters.text.split():
        rows = rows.filter(test__icontains=word)
    return rows


def last_words(*, repository: Repository, commit: Commit) -> dict[tuple[str, str, str], TestWord]:
    """Give the last word of each test on a commit: it was run there, or what it ran stands yet."""
    standing = VerifiedFunction.objects.filter(verification=OuterRef("pk"), expired_at=None)
    found = (
        Verification.objects.filter(Q(commit=commit) | Exists(standing), repository=repository)
        .order_by("id")
        .values_list("crate", "binary", "test", "verdict", "passes_without_gpu", "commit__object_id")
    )
    return {
        (crate, binary, test): TestWord(verdict, verdict in _PROOFS, passes, object_id)
        for crate, binary, test, verdict, passes, object_id in found
    }


def verdicts_standing(*, repository_id: int, symbols: Collection[str]) -> dict[str, tuple[Verdict, ...]]:
    """Return what is shown of functions that are as they were: the last word of each test, the newest first.

    Where a test was run again and said nothing, what it showed before stands.
    """
    rows = (
        VerifiedFunction.objects.filter(
            symbol__in=set(symbols), verification__repository=repository_id, expired_at=None
        )
        .exclude(verification__verdict__in=[verdict.value for verdict in SAYS_NOTHING])
        .order_by("-verification_id")
        .values_list("symbol", "digest", *_TEST, "verification__verdict")
    )
    told: set[tuple[str, ...]] = set()
    found: dict[str, tuple[Verdict, ...]] = {}
    for *test, verdict in rows:
        if (key := tuple(test)) not in told:
            told.add(key)
            found[key[0]] = (*found.get(key[0], ()), Verdict(verdict))
    return found


def ptx_loads_of(*, repository: Repository, symbol: str, sha256: str = "") -> list[PtxLoad]:
    """Give what drivers said last to the PTX text of a constant or function. It outranks the assembler.

    A text is known by its checksum; without one, by the name that it was loaded under.
    """
    known = {"sha256": sha256} if sha256 else {"name": symbol[:300]}
    found = PtxLoad.objects.filter(**known, job__repository=repository)
    return list(found.select_related("job__commit", "job__runner").order_by("-id")[:3])


def kernel_loads(*, digests: Collection[str]) -> dict[str, bool]:
    """Say of PTX texts that a driver loaded or refused as invalid, by digest, whether one ever loaded it.

    Where a driver gave no answer, or was out of memory or too old for the text, nothing is said.
    """
    told = PtxLoad.objects.filter(Q(is_loaded=True) | Q(result=_INVALID_PTX), sha256__in=digests)
    found = told.order_by().values("sha256")
    return dict(found.annotate(loaded=BoolOr("is_loaded")).values_list("sha256", "loaded"))
