//! Times a few operators. `cargo run --example bench`.

use std::time::Instant;

use minitorch::gpu::elementwise::gpu_add;
use minitorch::gpu::{cpu_to_gpu, GpuDevice};
use minitorch::Tensor;

fn main() {
    let n = 1 << 20;
    let host = Tensor::from_vec(vec![1.0f32; n], &[n]).expect("sizes agree");
    let start = Instant::now();
    let sum = minitorch::core::ops::elementwise::add(&host, &host).expect("host tensors");
    println!("host add of {}: {:?}", sum.numel(), start.elapsed()); //~ ok FT012: the output of a benchmark

    let device = match GpuDevice::new(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("no device section: {error}"); //~ ok FT012: a benchmark says what it leaves out, and computes nothing
            return;
        }
    };
    let x = cpu_to_gpu(&vec![1.0f32; n], &device).expect("an upload");
    let start = Instant::now();
    gpu_add(&x, &x, &device).expect("a launch");
    device.stream().synchronize().expect("an idle device");
    println!("device add of {n}: {:?}", start.elapsed()); //~ ok FT012: the output of a benchmark
}
