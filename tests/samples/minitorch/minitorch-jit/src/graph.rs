//! The graph that code is generated from.

/// An elementwise step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    Input,
    Add(f32),
    Scale(f32),
    Relu,
    Exp,
}

/// A chain of steps.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
}

impl Graph {
    pub fn then(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }
}

/// Runs a graph.
pub trait CompiledGraph: Send + Sync {
    fn run(&self, input: &[f32]) -> Vec<f32>;
    fn target(&self) -> &'static str;
}

/// Walks the nodes for each element. This is the host interpreter, by name.
#[derive(Debug)]
pub struct Interpreter {
    pub graph: Graph,
}

impl CompiledGraph for Interpreter {
    fn run(&self, input: &[f32]) -> Vec<f32> {
        let step = |value: f32, node: &Node| match node {
            Node::Input => value,
            Node::Add(b) => value + b,
            Node::Scale(a) => value * a,
            Node::Relu => value.max(0.0),
            Node::Exp => value.exp(),
        };
        input.iter().map(|&v| self.graph.nodes.iter().fold(v, step)).collect() //~ ok FT002: an interpreter for the host, named so
    }

    fn target(&self) -> &'static str {
        "interpreter"
    }
}
