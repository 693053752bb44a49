"""The rules: one module each, listed in `RULES` in the order of their ids."""

from __future__ import annotations

from audit.rules.autograd_cpu_detour import AutogradCpuDetour
from audit.rules.base import Rule
from audit.rules.broken_ptx import BrokenPtx
from audit.rules.cfg_gated_stub import CfgGatedStub
from audit.rules.comment_only_gap import CommentOnlyGap
from audit.rules.deferred_kernel import DeferredKernel
from audit.rules.disabled_gpu_test import DisabledGpuTest
from audit.rules.dishonest_report import DishonestReport
from audit.rules.dispatch_only_dispatch import DispatchOnlyDispatch
from audit.rules.eprintln_degrade import EprintlnDegrade
from audit.rules.fake_gpu_function import FakeGpuFunction
from audit.rules.host_readback import HostReadback
from audit.rules.kernel_in_core import KernelInCore
from audit.rules.missing_gpu_test import MissingGpuTest
from audit.rules.reference_punt import ReferencePunt
from audit.rules.shape_bypass import ShapeBypass
from audit.rules.silent_fallback import SilentFallback
from audit.rules.ungated_warning import UngatedWarning
from audit.rules.unstructured_error import UnstructuredError

RULES: tuple[Rule, ...] = (
    SilentFallback(),
    FakeGpuFunction(),
    DeferredKernel(),
    CfgGatedStub(),
    ReferencePunt(),
    DispatchOnlyDispatch(),
    AutogradCpuDetour(),
    HostReadback(),
    MissingGpuTest(),
    DisabledGpuTest(),
    ShapeBypass(),
    EprintlnDegrade(),
    UngatedWarning(),
    CommentOnlyGap(),
    KernelInCore(),
    UnstructuredError(),
    BrokenPtx(),
    DishonestReport(),
)
