"""The machinery in the database: runners, bundles, verification jobs and what they showed."""

from __future__ import annotations

from workers.models.event import MachineEvent
from workers.models.job import VerificationJob
from workers.models.mechanical import MechanicalReport
from workers.models.nightly import NightlyVerification
from workers.models.request import RequestTarget, VerificationRequest
from workers.models.runner import ProbeReading, Runner, RunnerState
from workers.models.test_bundle import TestBundle
from workers.models.verification import PtxLoad, Verification, VerifiedFunction

__all__ = [
    "MachineEvent",
    "MechanicalReport",
    "NightlyVerification",
    "ProbeReading",
    "PtxLoad",
    "RequestTarget",
    "Runner",
    "RunnerState",
    "TestBundle",
    "Verification",
    "VerificationJob",
    "VerificationRequest",
    "VerifiedFunction",
]
