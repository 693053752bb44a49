"""Histories of a workspace that grow as real ones do: by edits of many kinds, each a commit.

The files are the examples of all rules, which share the names of helpers, types and traits, and a chain of
helpers through three crates that decides what the callers at its end are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from random import Random

from audit.rules import RULES

Files = dict[str, str]

CRATES = ("ferrotorch-core", "ferrotorch-gpu", "ferrotorch-nn")
HELPERS = {
    "reads": "pub fn fetch(x: &Tensor) -> FerrotorchResult<Vec<f32>> { x.data_vec() }",
    "refuses": """
        pub fn fetch(x: &Tensor) -> FerrotorchResult<Vec<f32>> {
            if x.is_cuda() {
                return Err(FerrotorchError::NotImplementedOnCuda { op: "fetch" });
            }
            x.data_vec()
        }
    """,
    "asks": """
        pub fn fetch(x: &Tensor) -> FerrotorchResult<Vec<f32>> {
            check_gpu_fallback_opt_in(&["fetch"])?;
            x.data_vec()
        }
    """,
    "launches": """
        pub fn fetch(x: &Tensor) -> FerrotorchResult<Vec<f32>> {
            let kernel = get_or_compile(x.context(), FETCH_PTX, "fetch", 0)?;
            unsafe { x.stream().launch_builder(&kernel).launch(cfg)? };
            x.data_vec()
        }
    """,
    "gone": "",
}
CALLERS = """
    use crate::helpers::{fetch as bring};

    pub struct Layer { pub weight: Tensor, pub rows: Vec<Tensor> }

    impl Layer {
        pub fn forward_gpu(&self, x: &Tensor) -> FerrotorchResult<Tensor> {
            let host = bring(x)?;
            let out: Vec<f32> = host.iter().map(|v| v * 2.0).collect();
            Tensor::from_storage(TensorStorage::on_device(out, x.device())?, x.shape().to_vec(), false)
        }

        pub fn scale(&self, x: &Tensor) -> FerrotorchResult<Tensor> {
            for row in &self.rows {
                let values = row.data_vec()?;
                println!("{}", values.len());
            }
            self.weight.mul(x)
        }
    }
"""
MACRO = """
macro_rules! make {
    ($name:ident) => {
        pub fn $name(x: &Tensor) -> Tensor { x.cpu() }
    };
}
make!(NAME);
"""
MANIFEST = """\
[package]
name = "{name}"
version = "0.1.0"

[features]
default = [{default}]
cuda = []
gpu = ["cuda"]

[dependencies]
{dependencies}
"""


def first_commit() -> Files:
    """Return the files of the first commit."""
    files = {"Cargo.toml": "[workspace]\nmembers = [" + ", ".join(f'"{one}"' for one in CRATES) + "]\n"}
    for crate in CRATES:
        files[f"{crate}/Cargo.toml"] = _manifest(crate, "", CRATES[: CRATES.index(crate)])
        files[f"{crate}/src/lib.rs"] = ""
        files[f"{crate}/src/helpers.rs"] = textwrap.dedent(HELPERS["reads"])
        files[f"{crate}/src/layer.rs"] = textwrap.dedent(CALLERS)
    for number, text in enumerate(_examples()[::4]):
        files[f"{CRATES[number % len(CRATES)]}/src/sample_{number}.rs"] = text
    return _with_roots(files)


def edited(files: Mapping[str, str], random: Random, number: int) -> tuple[str, Files]:
    """Return the name of the edit that has a number, and the files after it: all kinds take turns."""
    edit = EDITS[number % len(EDITS)]
    return edit.__name__, _with_roots(edit(dict(files), random))


def _manifest(crate: str, default: str, needed: tuple[str, ...]) -> str:
    dependencies = "\n".join(f'{one} = {{ path = "../{one}" }}' for one in needed)
    return MANIFEST.format(name=crate, default=default, dependencies=dependencies)


def _examples() -> list[str]:
    return [example.source for rule in RULES for example in (*rule.invalid, *rule.valid)]


def _with_roots(files: Files) -> Files:
    """Declare the modules of each crate in its root, behind what else the root holds."""
    for crate in CRATES:
        root = f"{crate}/src/lib.rs"
        kept = [line for line in files[root].splitlines() if not line.startswith(("pub mod ", "#[cfg"))]
        modules = sorted(_modules(files, crate))
        cfg = "" if len(modules) % 3 else '#[cfg(feature = "cuda")]\n'
        files[root] = "\n".join([*kept, *(f"{cfg}pub mod {name};" for name in modules)]) + "\n"
    return files


def _modules(files: Files, crate: str) -> Iterator[str]:
    folder = f"{crate}/src/"
    for path in files:
        name = path.removeprefix(folder).removesuffix("/mod.rs").removesuffix(".rs")
        if path.startswith(folder) and path.endswith(".rs") and name != "lib" and "/" not in name:
            yield name


def _rust(files: Files, random: Random) -> str:
    return random.choice([path for path in files if path.endswith(".rs") and not path.endswith("lib.rs")])


def change_helper(files: Files, random: Random) -> Files:
    """What a helper does changes, and with it what its callers are."""
    crate = random.choice(CRATES)
    text = textwrap.dedent(HELPERS[random.choice(list(HELPERS))])
    return {**files, f"{crate}/src/helpers.rs": text}


def rename_file(files: Files, random: Random) -> Files:
    """A file gets another name, in its crate or in another one."""
    path = _rust(files, random)
    text = files.pop(path)
    crate = random.choice(CRATES)
    return {**files, f"{crate}/src/moved_{random.randrange(1000)}.rs": text}


def make_folder(files: Files, random: Random) -> Files:
    """A module becomes a folder."""
    path = _rust(files, random)
    text = files.pop(path)
    return {**files, path if path.endswith("/mod.rs") else f"{path[:-3]}/mod.rs": text}


def delete_file(files: Files, random: Random) -> Files:
    """A file goes."""
    del files[_rust(files, random)]
    return files


def add_file(files: Files, random: Random) -> Files:
    """A file comes."""
    path = f"{random.choice(CRATES)}/src/added_{random.randrange(1000)}.rs"
    return {**files, path: random.choice(_examples())}


def insert_lines(files: Files, random: Random) -> Files:
    """Everything behind a place moves on."""
    path = _rust(files, random)
    return {**files, path: "// What follows stands some lines further down now.\n\n\n" + files[path]}


def append_item(files: Files, random: Random) -> Files:
    """A function, an overriding impl, a macro, a trait or a struct comes, under a name that others call."""
    name = random.choice(("fetch", "data_vec", "forward_gpu", "scale", "to_host", "launch_kernel", "mul"))
    kind = random.choice(("Layer", "Tensor", "GpuTensor", f"Kind{random.randrange(5)}"))
    item = random.choice(
        (
            f"pub fn {name}(x: &Tensor) -> FerrotorchResult<Tensor> {{ x.cpu() }}",
            f"impl {kind} {{ pub fn {name}(&self) -> Vec<f32> {{ self.inner.data_vec().unwrap() }} }}",
            f"pub trait Works{random.randrange(3)} {{ fn {name}(&self) -> Tensor {{ todo!() }} }}",
            f"impl Works{random.randrange(3)} for {kind} {{ fn {name}(&self) -> Tensor {{ self.cpu() }} }}",
            f"pub struct {kind} {{ inner: Tensor, weight: Vec<f32>, rows: Option<Vec<{kind}>> }}",
            MACRO.replace("NAME", name),
            f"pub use crate::helpers::fetch as {name};",
            f"#[test]\nfn test_{name}() {{ let d = GpuDevice::new(0).unwrap(); {name}(&d); }}",
        )
    )
    path = random.choice([path for path in files if path.endswith(".rs")])
    return {**files, path: f"{files[path]}\n{item}\n"}


def change_bodies(files: Files, random: Random) -> Files:
    """What functions do changes, and nothing by which they are called."""
    path = _rust(files, random)
    line = random.choice(("x.cpu();", "let host = x.data_vec();", "if x.is_cuda() { todo!() }", "let y = 1;"))
    return {**files, path: files[path].replace("{\n", f"{{\n    {line}\n", random.randrange(1, 4))}


def put_in_front(files: Files, random: Random) -> Files:
    """A twin of a function comes to stand before it: of the same name, it may be called in its place."""
    path = _rust(files, random)
    name = random.choice(("fetch", "data_vec", "forward_gpu", "scale", "to_host", "mul"))
    kind = random.choice(("Layer", "Tensor", "GpuTensor"))
    twin = random.choice(
        (
            f"pub fn {name}(x: &Tensor) -> Tensor {{ x.cpu() }}",
            f'#[cfg(feature = "cuda")]\npub fn {name}(x: &Tensor) -> Tensor {{ x.cpu() }}',
            f"impl {kind} {{ pub fn {name}(&self) -> Tensor {{ self.cpu() }} }}",
            f"mod inner {{ pub fn {name}(x: &Tensor) -> Tensor {{ x.clone() }} }}",
        )
    )
    return {**files, path: f"{twin}\n{files[path]}"}


def change_parameters(files: Files, random: Random) -> Files:
    """Functions take one thing more, or another thing."""
    path = _rust(files, random)
    old, new = random.choice(
        (("(x: &Tensor)", "(x: &Tensor, k: usize)"), ("(&self, x", "(x"), ("&Tensor", "&GpuTensor"))
    )
    return {**files, path: files[path].replace(old, new)}


def change_fields(files: Files, random: Random) -> Files:
    """A struct has other fields, under the name that it had."""
    path = _rust(files, random)
    old, new = random.choice(
        (
            ("weight: Tensor", "weight: Layer"),
            ("inner: Tensor", "inner: Vec<f32>"),
            ("rows: Vec", "rows: Option"),
        )
    )
    return {**files, path: files[path].replace(old, new)}


def replace_word(files: Files, random: Random) -> Files:
    """A function is renamed in one file, and its callers elsewhere call what is not there, or another one."""
    old, new = random.sample(("fetch", "data_vec", "forward_gpu", "scale", "cpu", "launch", "bring"), 2)
    path = _rust(files, random)
    return {**files, path: files[path].replace(old, new)}


def change_features(files: Files, random: Random) -> Files:
    """A crate has other default features, and needs other crates."""
    crate = random.choice(CRATES)
    needed = tuple(one for one in CRATES if one != crate and random.random() < 0.5)
    default = random.choice(("", '"cuda"', '"gpu"'))
    return {**files, f"{crate}/Cargo.toml": _manifest(crate, default, needed)}


def break_syntax(files: Files, random: Random) -> Files:
    """A file stops parsing halfway."""
    path = _rust(files, random)
    return {**files, path: files[path][: len(files[path]) // 2]}


EDITS: tuple[Callable[[Files, Random], Files], ...] = (
    change_helper,
    change_helper,
    rename_file,
    make_folder,
    delete_file,
    add_file,
    insert_lines,
    append_item,
    append_item,
    change_bodies,
    put_in_front,
    change_parameters,
    change_fields,
    replace_word,
    change_features,
    break_syntax,
)
