"""Compares what the compiler was allowed to use with what a processor has."""

from __future__ import annotations

from collections.abc import Iterable

#: rustc's target features whose name in /proc/cpuinfo is another.
_KERNEL_NAMES = {
    "cmpxchg16b": "cx16",
    "lahfsahf": "lahf_lm",
    "lzcnt": "abm",
    "sha": "sha_ni",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "avxvnni": "avx_vnni",
    "neon": "asimd",
}

#: Target features that the kernel lists under no name of their own.
_UNLISTED = {"x87", "crt-static"}


def missing_cpu_features(features: Iterable[str], flags: Iterable[str]) -> tuple[str, ...]:
    """Give the target features that are not among a processor's flags."""
    present = set(flags)
    return tuple(
        feature
        for feature in features
        if feature not in _UNLISTED and _KERNEL_NAMES.get(feature, feature) not in present
    )
