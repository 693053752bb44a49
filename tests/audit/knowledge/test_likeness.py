from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.knowledge.likeness import SKETCH_SIZE, likeness, sketch

ADD = """match get_or_compile(ctx, ADD_PTX) {
    Ok(f) => f,
    Err(_) => { let a = gpu_to_cpu(x)?; return cpu_to_gpu(&add(&a)); } // falls back
}"""


def test_literals_and_comments_do_not_matter_and_a_variant_of_a_name_matters_little() -> None:
    bare = ADD.replace("// falls back", "")
    assert likeness(sketch(ADD), sketch(bare)) == 1
    other = bare.replace("ADD_PTX", "MUL_F64_PTX").replace("gpu_to_cpu", "gpu_to_cpu_f64")
    assert 0.75 < likeness(sketch(ADD), sketch(other)) < 1


def test_what_is_called_matters() -> None:
    gone = ADD.replace("let a = gpu_to_cpu(x)?; return cpu_to_gpu(&add(&a));", "return Err(refuse(x));")
    assert 0 < likeness(sketch(ADD), sketch(gone)) < 0.8
    assert likeness(sketch(ADD), sketch('println!("{}", 3)')) < 0.1


@given(st.text(max_size=400), st.text(max_size=400))
def test_likeness_is_symmetric_and_between_nothing_and_all(one: str, other: str) -> None:
    first, second = sketch(one), sketch(other)
    assert len(first) <= SKETCH_SIZE
    assert 0 <= likeness(first, second) == likeness(second, first) <= 1
    assert likeness(first, first) == bool(first)
