//! Executors on a card. Without one they fail.

use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, GpuDevice};
use minitorch_jit::codegen::{compile_or_interpret, strict_executor, Target};
use minitorch_jit::graph::{Graph, Node};
use minitorch_jit::runner::PtxGraph;

#[test]
fn a_fused_chain_runs_on_the_card() {
    let device = GpuDevice::new(0).expect("a CUDA device"); //~ ok FT010: fails without a device
    let graph = Graph::default().then(Node::Add(1.0)).then(Node::Scale(2.0));
    let compiled = PtxGraph::new(&graph).expect("the text assembles");
    let out = compiled.run_on_device(&cpu_to_gpu(&[1.0f32, 2.0], &device).unwrap()).unwrap();
    assert_eq!(gpu_to_cpu(&out, &device).unwrap(), vec![4.0, 6.0]);
}

#[test]
fn executors_name_their_target() {
    let graph = Graph::default().then(Node::Relu);
    let device = GpuDevice::new(0).expect("a CUDA device");
    assert_eq!(device.ordinal(), 0);
    assert_eq!(strict_executor(Target::GpuPtx, &graph).unwrap().run(&[-1.0]), vec![0.0]);
    assert_eq!(compile_or_interpret(&graph).unwrap().target(), "ptx");
}
