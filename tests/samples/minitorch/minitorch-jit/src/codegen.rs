//! Backends that turn a graph into something that runs.

use minitorch_core::{TorchError, TorchResult};

use crate::codegen_gpu::{generate_cuda_source, generate_ptx_source};
use crate::graph::{CompiledGraph, Graph, Interpreter};
use crate::runner::PtxGraph;

/// Where generated code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Cpu,
    GpuCuda,
    GpuPtx,
}

/// Compiles graphs.
pub trait Codegen {
    fn compile(&self, graph: &Graph) -> TorchResult<Box<dyn CompiledGraph>>;
    fn name(&self) -> &'static str;
}

/// The interpreter.
#[derive(Debug, Default)]
pub struct InterpreterBackend;

impl Codegen for InterpreterBackend {
    fn compile(&self, graph: &Graph) -> TorchResult<Box<dyn CompiledGraph>> {
        Ok(Box::new(Interpreter { graph: graph.clone() })) //~ ok FT006: the host backend, named so
    }

    fn name(&self) -> &'static str {
        "interpreter"
    }
}

/// Fuses elementwise chains into one kernel.
///
/// For GPU targets the interpreter on the host still runs the graph. //~ FT014
#[derive(Debug)]
pub struct InductorBackend {
    pub target: Target,
}

impl Codegen for InductorBackend {
    fn compile(&self, graph: &Graph) -> TorchResult<Box<dyn CompiledGraph>> {
        if self.target == Target::Cpu {
            return InterpreterBackend.compile(graph);
        }
        let _sources = (generate_cuda_source(graph), generate_ptx_source(graph));
        InterpreterBackend.compile(graph) //~ FT006
    }

    fn name(&self) -> &'static str {
        match self.target {
            Target::Cpu => "inductor-cpu",
            Target::GpuCuda => "inductor-gpu-cuda",
            Target::GpuPtx => "inductor-gpu-ptx",
        }
    }
}

/// Chooses the executor of a target.
pub fn executor_for(target: Target, graph: &Graph) -> TorchResult<Box<dyn CompiledGraph>> {
    match target {
        Target::Cpu => InterpreterBackend.compile(graph), //~ ok FT006: host to host
        Target::GpuPtx | Target::GpuCuda => InterpreterBackend.compile(graph), //~ FT006
    }
}

/// The strict form: GPU targets run generated PTX or fail.
pub fn strict_executor(target: Target, graph: &Graph) -> TorchResult<Box<dyn CompiledGraph>> {
    match target {
        Target::Cpu => InterpreterBackend.compile(graph),
        Target::GpuPtx => Ok(Box::new(PtxGraph::new(graph)?)), //~ ok FT006: a real executor
        Target::GpuCuda => Err(TorchError::NotImplementedOnCuda { op: "nvrtc" }), //~ ok FT006: structured
    }
}

/// Compile for the device; falls back to CPU on error. //~ FT018
pub fn compile_or_interpret(graph: &Graph) -> TorchResult<Box<dyn CompiledGraph>> {
    match PtxGraph::new(graph) {
        Ok(compiled) => Ok(Box::new(compiled)),
        Err(_) => InterpreterBackend.compile(graph), //~ FT001
    }
}

/// The source of a target, for inspection.
pub fn source_for(target: Target, graph: &Graph) -> TorchResult<String> {
    match target {
        Target::Cpu => Err(TorchError::InvalidArgument { message: "the interpreter has no source".into() }),
        Target::GpuCuda => Ok(generate_cuda_source(graph)), //~ ok FT006: GPU targets get GPU source
        Target::GpuPtx => Ok(generate_ptx_source(graph)),
    }
}
