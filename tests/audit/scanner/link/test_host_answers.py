"""What functions answer with: host data that they are for reading, records, or tensors."""

from __future__ import annotations

from tests.audit.scanner.project_fixture import results_in, rules_in


def test_a_list_that_another_file_names_is_a_list() -> None:
    types = """
    pub enum Row { Pooled(Vec<f32>), All(Vec<Vec<f32>>) }
    pub type Rows = HashMap<usize, Row>;
    """
    source = """
    mod types;
    use crate::types::{Row, Rows};

    pub struct Model { layer: Tensor }

    impl Model {
        pub fn embed(&self, ids: &[u32]) -> Result<Rows> {
            let rows = self.layer.forward(ids)?.to_vec2::<f32>()?;
            Ok(rows.into_iter().map(Row::Pooled).enumerate().collect())
        }
    }
    """
    assert rules_in(source, **{"src/types.rs": types}) == []
    held = types.replace("All(Vec<Vec<f32>>)", "All(Tensor)")
    assert rules_in(source, **{"src/types.rs": held}) == ["reference-punt"]
    deeper = types.replace("All(Vec<Vec<f32>>)", "All(Rest)") + "pub enum Rest { Kept(Tensor), Row(Row) }"
    assert rules_in(source, **{"src/types.rs": deeper}) == ["reference-punt"]
    unseen = source.replace("{Row, Rows}", "Row").replace(
        "mod types;", "mod types; enum Rows { Tensor(Tensor) }"
    )
    assert rules_in(unseen, **{"src/types.rs": types}) == ["reference-punt"]


def test_tensors_that_another_file_names_are_no_list() -> None:
    source = """
    mod types;
    use crate::types::Rows;

    pub fn rows(x: &Tensor) -> Result<Rows> {
        let rows = x.to_vec2::<f32>()?;
        Ok(rows.into_iter().map(wrapped).enumerate().collect())
    }
    """
    types = "pub type Rows = HashMap<usize, Tensor>;\n"
    assert rules_in(source, **{"src/types.rs": types}) == ["reference-punt"]
    assert rules_in(source, **{"src/types.rs": types.replace("Tensor", "Vec<f32>")}) == []
    other = "pub mod other {\n    pub type Rows = HashMap<usize, Vec<f32>>;\n}"
    assert rules_in(source, **{"src/types.rs": types + other}) == []


def test_records_that_hold_a_tensor_somewhere_are_no_host_data() -> None:
    source = """
    pub struct Held { key: Tensor }
    pub type Row = Tensor;
    pub enum Cache { Normal(Held), Empty }

    impl Service {
        pub fn cached(&self) -> Result<Cache> {
            let rounded = rounded(self.state.to_vec1::<f32>()?);
            Ok(Cache::of(rounded, self.state.device()))
        }
    }

    pub struct Service { state: Tensor }
    """
    assert rules_in(source) == ["reference-punt"]
    assert rules_in(source.replace("Normal(Held)", "Normal(Row)")) == ["reference-punt"]
    assert rules_in(source.replace("Normal(Held)", "Normal(Box<dyn Layer>)")) == ["reference-punt"]
    assert rules_in(source.replace("Normal(Held)", "/// A Tensor once.\n Normal(Vec<f32>)")) == []
    # An operator is given a tensor: the host answers for it, in whatever it wraps the answer.
    operator = source.replace("Normal(Held)", "Normal(Vec<f32>)").replace("(&self)", "(&self, x: &Tensor)")
    assert rules_in(operator) == ["reference-punt"]
    whole = source.replace("Normal(Held)", "Normal(Vec<f32>)")
    assert "fake-gpu-function" in rules_in("mod cuda;", **{"src/cuda.rs": whole})
    made = source.replace("Normal(Held)", "Normal(Vec<f32>)").replace(
        "Ok(Cache", "let kept = Tensor::new(&rounded, self.state.device())?; Ok(Cache"
    )
    assert rules_in(made) == ["reference-punt"]


def test_who_computes_with_a_list_beside_an_error_of_its_own_answers_for_it() -> None:
    source = """
    pub enum Failure { Candle(candle_core::Error) }

    fn exponents(x: &Tensor) -> std::result::Result<Vec<f32>, Failure> {
        Ok(x.to_vec1::<f32>()?.iter().map(|one| one.exp()).collect())
    }

    pub fn softmax(x: &Tensor) -> Result<Tensor> {
        Tensor::from_vec(normal(exponents(x)?), x.shape(), x.device())
    }
    """
    found = [(rule, symbol) for rule, _, symbol in results_in(source) if rule != "missing-gpu-test"]
    assert found == [("reference-punt", "softmax")]
    # What is read is not what is answered.
    stepping = source.replace("Vec<f32>, Failure", "Duration, Failure")
    assert ("reference-punt", "exponents") in [(rule, symbol) for rule, _, symbol in results_in(stepping)]
    sorting = source.replace("Vec<f32>, Failure", "Vec<usize>, Failure")
    assert ("reference-punt", "exponents") in [(rule, symbol) for rule, _, symbol in results_in(sorting)]


def test_a_name_stands_for_what_the_file_imports_under_it() -> None:
    source = """
    mod types;
    mod records;
    use crate::records::Rows;

    pub fn rows(x: &Tensor) -> Result<Rows> {
        Ok(wrapped(x.to_vec2::<f32>()?))
    }
    """
    files = {
        "src/types.rs": "pub type Rows = Vec<f32>;\npub type Cols = Vec<f32>;\n",
        "src/records.rs": "pub enum Rows { Of(Tensor) }\n",
    }
    assert rules_in(source, **files) == ["reference-punt"]
    assert rules_in(source.replace("records::Rows", "types::Cols").replace("<Rows>", "<Cols>"), **files) == []
    # A sentence that looks like one hides none.
    told = {"src/types.rs": "// A type Shape = Tensor, or\npub type Cols = Vec<f32>;\n", "src/records.rs": ""}
    assert rules_in(source.replace("records::Rows", "types::Cols").replace("<Rows>", "<Cols>"), **told) == []
    held = {**told, "src/types.rs": told["src/types.rs"].replace("Vec<f32>", "Vec<Tensor>")}
    assert rules_in(source.replace("records::Rows", "types::Cols").replace("<Rows>", "<Cols>"), **held) == [
        "reference-punt"
    ]
    foreign = {"src/types.rs": "pub type Rows = HashMap<usize, Tensor>;\n"}
    assert rules_in(source.replace("crate::records", "elsewhere"), **foreign) == []


def test_what_is_told_of_an_error_says_nothing_of_the_answer() -> None:
    source = """
    pub struct Failure { input: Tensor }

    pub fn rows(x: &Tensor) -> std::result::Result<Vec<Vec<f32>>, Failure> {
        Ok(x.to_vec2::<f32>()?)
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("Vec<Vec<f32>>", "Vec<Tensor>").replace("Ok(x", "wrapped(x")) == [
        "reference-punt"
    ]


def test_a_list_under_another_name_is_a_list() -> None:
    source = """
    type Rows = (Vec<Vec<f32>>, Vec<Vec<u32>>);

    pub fn top(x: &Tensor) -> Result<Rows> {
        let rows = x.to_vec2::<f32>()?;
        Ok(split(rows))
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("Vec<Vec<f32>>,", "Tensor,")) == ["reference-punt"]
