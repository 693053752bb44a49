"""Which clauses of the policy a work unit rests on, and the sentences of its rationale."""

from __future__ import annotations

from collections.abc import Mapping

from audit.policy.links import GAP_CLAUSES, OUTCOME_CLAUSES, RULE_CLAUSES
from audit.policy.sentences import Sentence
from audit.rules import RULES
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.items import NeedKind
from migrations_tracker.scheduling.precedence import PrecedenceReason
from migrations_tracker.scheduling.units import UnitKind, WorkUnit

UNIT_KIND_CLAUSES: Mapping[UnitKind, tuple[str, ...]] = {
    UnitKind.DECISION: ("S1", "S3"),
    UnitKind.SWEEP: ("S1", "S2"),
    UnitKind.REDESIGN: ("S1", "M1"),
    UnitKind.SINGLE: ("S1",),
    UnitKind.OWN: ("S3",),
}

CATEGORY_CLAUSES: Mapping[FixCategory, tuple[str, ...]] = {
    FixCategory.ROOT_CAUSE: ("S1", "M1"),
    FixCategory.LOCAL_CORRECTNESS: ("S2", "A1"),
    FixCategory.ANNOTATION: ("M7", "W2"),
}

NEED_CLAUSES: Mapping[NeedKind, tuple[str, ...]] = {
    NeedKind.WORKSPACE_DEPENDENCY: ("M5", "S3"),
    NeedKind.ERROR_VARIANT: ("M3", "S3"),
    NeedKind.SHARED_HELPER: ("M4", "M6", "S3"),
    NeedKind.STORAGE_REDESIGN: ("M9", "S3"),
}

PRECEDENCE_CLAUSES: Mapping[PrecedenceReason, tuple[str, ...]] = {
    PrecedenceReason.NEEDS: ("S3",),
    PrecedenceReason.STORAGE: ("S3", "M9"),
    PrecedenceReason.KERNEL_BEFORE_TEST: ("S3", "V5"),
    PrecedenceReason.FORWARD_BEFORE_BACKWARD: ("S3", "M8"),
    PrecedenceReason.CRATE: ("S3", "M10"),
    PrecedenceReason.PERSON: ("S3",),
}

QUESTION = Sentence(
    "now-or-next-phase",
    "{behaviour}{more}. Implementation cost: {cost}. Now or next phase?",
    ("S1",),
)
ONE_PLACE = Sentence("pytorch-one-place", "PyTorch has one place for it, and {reason}", ("S1", "S3"))
RAISES_BY_DEFAULT = Sentence(
    "pytorch-raises-by-default",
    "PyTorch raises an error where an operator has no kernel for the device",
    ("S1", "M2"),
)
NO_CHANGE = Sentence("no-change", "None for callers.", ("W3",))
REFUSES = Sentence("map-refuses", "nowhere: it refuses", ("M2",))
REFUSAL_ASSERTED = Sentence("map-refusal-asserted", "the test asserts `{error}`", ("M3", "V5"))
ON_CPU_BY_CHOICE = Sentence("map-opt-in", "CPU, when the user opts in", ("A4", "M4"))
CHOICE_PROVED = Sentence(
    "map-opt-in-proved", "refused without `{variable}`, computed and warned with it", ("M4", "M5")
)
WHERE_INPUT_IS = Sentence("map-composite", "the device of its input", ("A2",))
KERNELS_OF_PARTS = Sentence("map-composite-proved", "kernels of the operators it is made of", ("A2", "V6"))
ON_GPU = Sentence("map-gpu", "GPU", ("M1", "V2"))
AS_BEFORE = Sentence("map-as-before", "as before", ("V5",))
TEST_ON_DEVICE = Sentence("map-test-runs", "its test runs on a device", ("V5", "V6"))

UNIT_SENTENCES = (
    QUESTION,
    ONE_PLACE,
    RAISES_BY_DEFAULT,
    NO_CHANGE,
    REFUSES,
    REFUSAL_ASSERTED,
    ON_CPU_BY_CHOICE,
    CHOICE_PROVED,
    WHERE_INPUT_IS,
    KERNELS_OF_PARTS,
    ON_GPU,
    AS_BEFORE,
    TEST_ON_DEVICE,
)

# What stands in place of a rule where a unit's item is a capability gap.
GAP_RULE = "capability-gap"
_BY_NAME = {rule.name: RULE_CLAUSES[rule.id] for rule in RULES} | {GAP_RULE: GAP_CLAUSES}


def clauses_of_rule_name(name: str) -> tuple[str, ...]:
    """Return the clauses of a rule by its name, or of a capability gap; none for a rule that is retired."""
    return _BY_NAME.get(name, ())


def clauses_of_unit(unit: WorkUnit) -> tuple[str, ...]:
    """Return the clauses that a unit rests on: what it mends first, how it is mended and sequenced last."""
    found = [clause for name in unit.rules for clause in clauses_of_rule_name(name)]
    if unit.need is not None:
        found += NEED_CLAUSES[unit.need.kind]
    if unit.outcome is not None:
        found += OUTCOME_CLAUSES[unit.outcome]
    found += (*UNIT_KIND_CLAUSES[unit.kind], *CATEGORY_CLAUSES[unit.category], *QUESTION.clauses)
    return tuple(dict.fromkeys(found))
