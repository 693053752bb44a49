//! Launches a kernel many times and prints the nanoseconds it took: `launches COUNT`.

use std::time::Instant;

use gpuproof::{ops, Gpu};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args().nth(1).ok_or("usage: launches COUNT")?.parse()?;
    let gpu = Gpu::open()?;
    let x = gpu.upload(&[0.0; 256])?;
    ops::add_one_times(&gpu, &x, 100)?;
    gpu.synchronize()?;
    let begun = Instant::now();
    ops::add_one_times(&gpu, &x, count)?;
    gpu.synchronize()?;
    println!("{}", begun.elapsed().as_nanos());
    Ok(())
}
