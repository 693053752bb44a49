"""A place stays the same place while the code around it moves: properties of edits of real-looking Rust."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner.matching import KnownSite, MatchPass, match_results
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import Result
from audit.scanner.source.memory import MemorySource
from audit.scanner.source.opening import open_source

_RULES = [rule for rule in RULES if rule.id in ("FT001", "FT005", "FT008")]
_UNTESTED = [rule for rule in RULES if rule.id == "FT009"]
_MARK = re.compile(r"mark(\d+)")
_PROFILE = load_profile()
_FILES = ("add", "mul", "exp", "sum")
_slow = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ARM = """
pub fn gpu_NAME(a: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile(device.context(), NAME_PTX, "NAME_kernel") {
        Ok(f) => f,
        Err(_) => {
            let host = gpu_to_cpu(a, device)?;
            return cpu_to_gpu(&host.iter().map(|x| x + 1.0).collect::<Vec<_>>(), device);
        }
    };
    launch(&f, a, device)
}
"""
READBACK = """
pub fn gpu_NAME(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = get_or_compile(d.context(), NAME_PTX, "NAME_kernel")?;
    let partials = alloc_zeros(256, d)?;
    d.stream().launch_builder(&f).arg(a).arg(&partials).launch(cfg)?;
    let host = gpu_to_cpu(&partials, d)?;
    cpu_to_gpu(&[host.iter().sum::<f32>()], d)
}
"""
TWINS = """
pub fn gpu_NAME(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if a.len() < 1024 {
        match get_or_compile(d.context(), NAME_PTX, "NAME_kernel") {
            Ok(f) => return launch(&f, a, d),
            Err(_) => return cpu_to_gpu(&gpu_to_cpu(a, d)?, d),
        }
    }
    let grid = a.len().div_ceil(256);
    let wide = grid * 2;
    match get_or_compile(d.context(), NAME_PTX, "NAME_kernel") {
        Ok(f) => launch_wide(&f, a, wide, d),
        Err(_) => return cpu_to_gpu(&gpu_to_cpu(a, d)?, d),
    }
}
"""


class Crate(NamedTuple):
    """The modules of a GPU crate by name, each the text of its functions."""

    modules: Mapping[str, Sequence[str]]
    name: str = "ferrotorch-gpu"

    def files(self) -> dict[str, bytes]:
        """Return the crate as files."""
        root = "".join(f"pub mod {module};\n" for module in self.modules)
        files = {
            f"{self.name}/Cargo.toml": f'[package]\nname = "{self.name}"\n',
            f"{self.name}/src/lib.rs": root,
        }
        for module, functions in self.modules.items():
            files[f"{self.name}/src/{module}.rs"] = "use crate::prelude::*;\n" + "".join(functions)
        return {path: text.encode() for path, text in files.items()}


def written(shapes: Sequence[Sequence[str]]) -> Crate:
    """Write a crate: each function has a number of its own in its name and nothing else of its own."""
    numbers = iter(range(1000))
    return Crate(
        {
            module: tuple(shape.replace("NAME", f"mark{next(numbers)}") for shape in functions)
            for module, functions in zip(_FILES, shapes, strict=False)
        }
    )


crates = st.lists(
    st.lists(st.sampled_from([ARM, READBACK]), min_size=1, max_size=4), min_size=2, max_size=len(_FILES)
).map(written)


def found_in(files: Mapping[str, bytes], rules: Sequence[Rule] = _RULES) -> tuple[Result, ...]:
    return scan(MemorySource(dict(files)), profile=_PROFILE, rules=rules).results


def sites_of(results: Sequence[Result]) -> list[KnownSite]:
    return [
        KnownSite(
            number,
            one.rule_id,
            one.symbol,
            one.path,
            one.partial_fingerprints,
            may_have_changed=True,
            start_line=one.region.start_line,
        )
        for number, one in enumerate(results)
    ]


def mark(result: Result) -> tuple[str, str]:
    """Return the function that a result stands in, under whatever name, and what was seen there."""
    found = _MARK.search(result.symbol)
    assert found is not None
    return found[1], result.rule_id


def assert_kept(before: Sequence[Result], after: Sequence[Result]) -> None:
    """Assert that each site was recognised in the function that it stood in."""
    codes = {number: one.snippet for number, one in enumerate(before)}
    matches = match_results(sites_of(before), after, lambda wanted: {key: codes[key] for key in wanted})
    assert len(after) == len(before) > 0
    for match in matches:
        assert match.site_id is not None, (after[match.result].symbol, [one.symbol for one in before])
        assert mark(before[match.site_id]) == mark(after[match.result])


def edited(files: Mapping[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {path: data.replace(old.encode(), new.encode()) for path, data in files.items()}


@_slow
@given(crates, st.integers(1, 30))
def test_lines_inserted_outside_functions(crate: Crate, count: int) -> None:
    files = crate.files()
    assert_kept(found_in(files), found_in(edited(files, "pub fn", "// a line\n" * count + "\npub fn")))


@_slow
@given(crates, st.sampled_from(["\n\t", "\n      ", "\r\n"]))
def test_indentation_and_line_ends(crate: Crate, line_end: str) -> None:
    files = crate.files()
    assert_kept(found_in(files), found_in(edited(files, "\n", line_end)))


@settings(_slow, max_examples=10)
@given(st.integers(1, 20), st.data())
def test_up_to_twenty_files_renamed_at_once(count: int, data: st.DataObject) -> None:
    shapes = [data.draw(st.sampled_from([ARM, READBACK])) for _ in range(20)]
    modules = {f"m{n}": (shape.replace("NAME", f"mark{n}"),) for n, shape in enumerate(shapes)}
    renamed = data.draw(st.sets(st.sampled_from(sorted(modules)), min_size=count, max_size=count))
    after = {f"renamed{name}" if name in renamed else name: texts for name, texts in modules.items()}
    assert_kept(found_in(Crate(modules).files()), found_in(Crate(after).files()))


@_slow
@given(crates, st.data())
def test_files_renamed_and_edited(crate: Crate, data: st.DataObject) -> None:
    renamed = data.draw(st.sets(st.sampled_from(sorted(crate.modules)), min_size=1))
    modules = {f"{name}_ops" if name in renamed else name: texts for name, texts in crate.modules.items()}
    files = edited(Crate(modules).files(), "let host", "let n = a.len();\n    let host")
    assert_kept(found_in(crate.files()), found_in(files))


@_slow
@given(crates, st.randoms())
def test_a_file_renamed_with_up_to_15_percent_of_it_edited(crate: Crate, random: Random) -> None:
    first, *others = crate.modules
    text = "".join(crate.modules[first])
    lines = text.split("\n")
    # A statement beside the others, in every function alike: what the site itself says stays.
    places = [number for number, line in enumerate(lines) if "let f = " in line]
    budget = max(len(lines) * 15 // 100, 1)
    for place in sorted(random.sample(places, min(budget, len(places))), reverse=True):
        lines.insert(place, f"    let n{place} = a.len();")
    modules = {f"{first}_kernels": ("\n".join(lines),), **{name: crate.modules[name] for name in others}}
    assert_kept(found_in(crate.files()), found_in(Crate(modules).files()))


@_slow
@given(crates)
def test_functions_renamed(crate: Crate) -> None:
    files = {
        path: re.sub(rb"fn gpu_(mark\d+)", rb"fn \1_on_gpu", data) for path, data in crate.files().items()
    }
    assert_kept(found_in(crate.files()), found_in(files))
    assert_kept(found_in(crate.files(), _UNTESTED), found_in(files, _UNTESTED))


@_slow
@given(crates)
def test_a_module_moved_into_another(crate: Crate) -> None:
    first, second, *_ = crate.modules
    modules = {name: texts for name, texts in crate.modules.items() if name != first}
    modules[second] = (*modules[second], *crate.modules[first])
    assert_kept(found_in(crate.files()), found_in(Crate(modules).files()))


@_slow
@given(crates)
def test_a_crate_that_became_a_part_of_another(crate: Crate) -> None:
    first, *others = crate.modules
    own = Crate({first: crate.modules[first]}, "ferrotorch-cubecl")
    rest = Crate({name: crate.modules[name] for name in others})
    merged = Crate({**rest.modules, first: own.modules[first]})
    assert_kept(found_in({**own.files(), **rest.files()}), found_in(merged.files()))


@_slow
@given(crates)
def test_a_crate_that_took_another_name(crate: Crate) -> None:
    assert_kept(found_in(crate.files()), found_in(Crate(crate.modules, "ferrotorch-cubecl").files()))


def test_the_same_tree_in_another_folder(tmp_path: Path) -> None:
    crate = written([[ARM, READBACK], [TWINS]])
    found = []
    for name in ("here", "elsewhere/and/deeper"):
        folder = tmp_path / name
        for path, data in crate.files().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        found.append(scan(open_source(folder), profile=_PROFILE, rules=_RULES).results)
    here, elsewhere = found
    assert [one.partial_fingerprints for one in here] == [one.partial_fingerprints for one in elsewhere]
    assert [one.path for one in here] == [one.path for one in elsewhere]
    assert len(here) == 4


@pytest.mark.parametrize("is_first_fixed", [True, False], ids=["first", "second"])
def test_of_twins_the_one_that_was_not_fixed_stays(is_first_fixed: bool) -> None:
    files = written([[ARM, TWINS, ARM]]).files()
    before = found_in(files)
    twins = [number for number, one in enumerate(before) if mark(one)[0] == "1"]
    assert len(twins) == 2
    path = "ferrotorch-gpu/src/add.rs"
    arm = b"Err(_) => return cpu_to_gpu(&gpu_to_cpu(a, d)?, d),"
    parts = files[path].split(arm)
    fixed = b"Err(source) => return Err(GpuError::PtxCompileFailed { source }),"
    text = (
        parts[0]
        + (fixed if is_first_fixed else arm)
        + parts[1]
        + (arm if is_first_fixed else fixed)
        + parts[2]
    )
    after = found_in({**files, path: text})
    matches = match_results(sites_of(before), after)
    [kept] = [match.site_id for match in matches if mark(after[match.result])[0] == "1"]
    assert kept == twins[1 if is_first_fixed else 0]
    assert {match.site_id for match in matches} == set(range(len(before))) - set(twins) | {kept}


@_slow
@given(crates, st.randoms())
def test_the_order_of_files_and_results(crate: Crate, random: Random) -> None:
    files = list(crate.files().items())
    random.shuffle(files)
    after = list(found_in(dict(files)))
    random.shuffle(after)
    assert_kept(found_in(crate.files()), after)


@_slow
@given(crates)
def test_the_same_commit_five_times(crate: Crate) -> None:
    before = found_in(crate.files())
    for _ in range(5):
        matches = match_results(sites_of(before), found_in(crate.files()))
        assert [match.site_id for match in matches] == list(range(len(before)))
        assert {match.match_pass for match in matches} == {MatchPass.FINGERPRINT}
