"""What a schedule is asked for, and what it answers. Times are ticks (quarter-hours) from `origin`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

TICK = timedelta(minutes=15)
TICKS_PER_HOUR = 4
DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """Hours of one weekday (Monday is 0), in minutes of the local day; `end_minute` may be 1440."""

    weekday: int
    start_minute: int
    end_minute: int


@dataclass(frozen=True, slots=True)
class Absence:
    """A stretch without work: aware datetimes, the end excluded."""

    start: datetime
    end: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WorkCalendar:
    """When a person or a runner works. A tick counts only when the whole of it lies inside the hours."""

    hours: tuple[WorkingHours, ...]
    time_zone: str = "UTC"
    absences: tuple[Absence, ...] = ()


ALWAYS = WorkCalendar(tuple(WorkingHours(day, 0, DAY_MINUTES) for day in range(7)))
OFFICE = WorkCalendar(
    tuple(
        WorkingHours(day, start, end)
        for day in range(5)
        for start, end in ((9 * 60, 12 * 60), (13 * 60, 18 * 60))
    )
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, or a team, that works on units. `capacity` is how many units they do at a time."""

    id: str
    skills: frozenset[str] = frozenset()
    calendar: WorkCalendar = OFFICE
    capacity: int = 1


@dataclass(frozen=True, slots=True)
class Runner:
    """A GPU machine. It takes `slots` verifications at the same time and never pauses one."""

    id: str
    labels: frozenset[str] = frozenset()
    calendar: WorkCalendar = ALWAYS
    slots: int = 1


@dataclass(frozen=True, slots=True)
class Pin:
    """What a person fixed: who does it, and that it starts in the first working tick from `start` on."""

    start: datetime | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Who works on a unit already, since when. Precedences into the unit have become void."""

    person: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class UnitDemand:
    """What one work unit asks of the schedule.

    One person who has all `skills` works on it for `effort` ticks of their working time, without another unit
    in between; then a runner that has all `labels` verifies it for `verification` ticks without a pause.
    It is finished when verified. For a unit under way `effort` is what remains.
    """

    key: str
    effort: int
    phase: int = 1
    skills: frozenset[str] = frozenset()
    verification: int = 0
    labels: frozenset[str] = frozenset()
    weight: int = 1
    release: datetime | None = None
    deadline: datetime | None = None
    pin: Pin | None = None
    under_way: UnderWay | None = None


class PhaseOrder(StrEnum):
    """Whether phases are gates: under `STRICT` no unit starts before every earlier phase has finished.

    The makespan is made small within them either way.
    """

    OVERLAPPING = "overlapping"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything a schedule must obey. `origin` is now: aware, on a quarter of an hour."""

    origin: datetime
    units: tuple[UnitDemand, ...]
    people: tuple[Person, ...]
    runners: tuple[Runner, ...] = ()
    precedences: tuple[tuple[str, str], ...] = ()
    phase_order: PhaseOrder = PhaseOrder.OVERLAPPING

    def instant(self, tick: int) -> datetime:
        """The datetime at which a tick begins."""
        return self.origin + tick * TICK

    def tick_after(self, instant: datetime) -> int:
        """The first tick that begins at or after an instant."""
        return -((self.origin - instant) // TICK)

    def tick_before(self, instant: datetime) -> int:
        """The last tick that begins at or before an instant."""
        return (instant - self.origin) // TICK


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one unit stands. Ends are excluded; without a verification it finishes when the work ends."""

    unit: str
    person: str
    start: int
    work_end: int
    runner: str | None
    verification_start: int
    finish: int


@dataclass(frozen=True, slots=True, order=True)
class Objective:
    """What is made small: the makespan, and at no longer makespan the sum of weight times finish."""

    makespan: int
    weighted_completion: int


@dataclass(frozen=True, slots=True)
class BoundPart:
    """One reason why the makespan can't be shorter: `source` names it, `value` is in ticks."""

    source: str
    value: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A proved lower bound on the makespan: the best of its parts."""

    parts: tuple[BoundPart, ...]
    is_by_solver: bool = False

    @property
    def value(self) -> int:
        """The largest part."""
        return max((part.value for part in self.parts), default=0)

    @property
    def best(self) -> BoundPart | None:
        """The part that binds."""
        return max(self.parts, key=lambda part: part.value, default=None)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A feasible schedule, how it came about and how good it can be at best.

    `is_cut_off` says that the wall clock ended the search, so that the seed alone does not give it again.
    `list_objective` is what list scheduling alone reached. `is_best_weighted` says that the solver proved
    that no schedule as short has a smaller weighted completion.
    """

    placements: tuple[Placement, ...]
    objective: Objective
    bound: Bound
    method: str
    seed: int
    list_objective: Objective
    is_optimal_makespan: bool = False
    is_cut_off: bool = False
    notes: tuple[str, ...] = ()
    is_best_weighted: bool = False

    @property
    def gap(self) -> float:
        """How far the makespan is above its bound, as a share of the bound."""
        bound = self.bound.value
        return (self.objective.makespan - bound) / bound if bound else 0.0

    def by_unit(self) -> dict[str, Placement]:
        """The placements by the key of their unit."""
        return {placement.unit: placement for placement in self.placements}


class ConflictKind(StrEnum):
    """Why there is no schedule."""

    INVALID_INPUT = "invalid-input"
    PRECEDENCE_CYCLE = "precedence-cycle"
    PHASE_ORDER = "phase-order"
    NO_SKILLED_PERSON = "no-skilled-person"
    NO_RUNNER = "no-runner"
    NO_WORKING_TIME = "no-working-time"
    PINS_CLASH = "pins-clash"
    DEADLINE_MISSED = "deadline-missed"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Constraints that can't all hold, by name.

    Without `is_proved`, none of the schedules that were tried obeys them, and a longer search might find one.
    """

    kind: ConflictKind
    constraints: tuple[str, ...]
    message: str
    is_proved: bool = True


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No schedule, and why."""

    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How much to search.

    `evaluations` bounds the search over lists and `deterministic_time` the exact solver: both are counted,
    not clocked, so a seed gives the same schedule again unless `wall_seconds` ends the search first.
    """

    seed: int = 0
    evaluations: int = 4000
    deterministic_time: float = 8.0
    wall_seconds: float = 300.0
    use_solver: bool = True

    @classmethod
    def for_size(cls, units: int, seed: int = 0) -> SolveOptions:
        """Return options with a search that grows with the number of units, to some minutes for 500."""
        return cls(seed=seed, evaluations=min(max(4000, units * units // 10), 25_000))
