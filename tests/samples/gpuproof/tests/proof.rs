//! At least one test for every verdict. `expectations.json` says which verdict each must get.

use gpuproof::{cublas, ops, Gpu, GpuError};

const N: usize = 4096;

fn values() -> Vec<f32> {
    (0..N).map(|i| i as f32 / 64.0 - 32.0).collect()
}

fn plus_one() -> Vec<f32> {
    values().iter().map(|v| v + 1.0).collect()
}

// on-device

#[test]
fn add_one_runs_on_the_device() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    assert_eq!(x.download().unwrap(), plus_one());
}

#[test]
fn add_one_runs_as_a_graph() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one_as_graph(&gpu, &x).unwrap();
    assert_eq!(x.download().unwrap(), plus_one());
}

#[test]
fn add_one_runs_from_another_thread() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            gpu.make_current().unwrap();
            ops::add_one(&gpu, &x).unwrap();
        });
    });
    assert_eq!(x.download().unwrap(), plus_one());
}

#[test]
fn matmul_runs_through_cublas() {
    let gpu = Gpu::open().unwrap();
    let n = 64;
    let mut identity = vec![0.0; n * n];
    (0..n).for_each(|i| identity[i * n + i] = 1.0);
    let (a, b) = (gpu.upload(&values()).unwrap(), gpu.upload(&identity).unwrap());
    assert_eq!(cublas::matmul(&gpu, &a, &b, n).unwrap().download().unwrap(), values());
}

#[test]
fn launches_but_compares_nothing() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    gpu.synchronize().unwrap();
}

#[test]
fn returns_early_without_a_device() {
    let Ok(gpu) = Gpu::open() else { return };
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    assert_eq!(x.download().unwrap(), plus_one());
}

// refused

#[test]
fn erfinv_of_f64_is_refused() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let refused = ops::erfinv_f64(&gpu, &x);
    assert_eq!(refused, Err(GpuError::Unsupported { op: "erfinv", dtype: "f64" }));
}

// opt-in-proved

#[test]
fn softplus_runs_on_the_host_only_when_asked_to() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let out = ops::softplus(&gpu, &x).unwrap().download().unwrap();
    assert!((out[N / 2] - 2.0f32.ln()).abs() < 1e-6);
}

// composite

#[test]
fn variance_is_made_of_other_kernels() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&[1.0, 2.0, 3.0, 4.0].repeat(N / 4)).unwrap();
    assert!((ops::variance(&gpu, &x).unwrap() - 1.25).abs() < 1e-3);
}

// host-round-trip

#[test]
fn relu_clears_on_the_host_before_its_kernel() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let out = ops::relu_through_host(&gpu, &x).unwrap().download().unwrap();
    assert!(out.iter().all(|v| *v >= 0.0));
}

#[test]
fn scale_has_no_kernel_at_all() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let out = ops::gpu_scale(&gpu, &x, 2.0).unwrap().download().unwrap();
    assert_eq!(out[0], -64.0);
}

#[test]
fn scale_behind_a_decoy_kernel() {
    let gpu = Gpu::open().unwrap();
    let (x, decoy) = (gpu.upload(&values()).unwrap(), gpu.upload(&[0.0; 256]).unwrap());
    ops::add_one(&gpu, &decoy).unwrap();
    let out = ops::gpu_scale(&gpu, &x, 2.0).unwrap().download().unwrap();
    assert_eq!(out[0], -64.0);
}

#[test]
fn erfinv_reads_back_before_it_refuses() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let refused = ops::erfinv_f64_after_readback(&gpu, &x);
    assert_eq!(refused, Err(GpuError::Unsupported { op: "erfinv", dtype: "f64" }));
}

// no-kernel

#[test]
fn exp_on_the_gpu_opens_no_device() {
    assert_eq!(ops::gpu_exp(&[0.0]), [1.0]);
}

#[test]
fn exp_on_the_gpu_opens_a_device_and_leaves_it() {
    let _gpu = Gpu::open().unwrap();
    assert_eq!(ops::gpu_exp(&[0.0]), [1.0]);
}

// skipped

#[test]
#[ignore = "the kernel is not written yet"]
fn erf_is_ignored() {
    panic!("never run");
}

// failed

#[test]
fn add_one_is_compared_with_the_wrong_values() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    assert_eq!(x.download().unwrap()[0], -30.0);
}

#[test]
fn leaves_before_the_harness_reports() {
    std::process::exit(0);
}

// crashed

#[test]
fn aborts_after_a_launch() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    std::process::abort();
}

// timed-out

#[test]
fn never_ends() {
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

// no-device

#[test]
fn runs_on_a_sixty_fourth_device() {
    let gpu = Gpu::open_nth(63).unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
}

// inconclusive

#[test]
fn add_one_works_in_managed_memory() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.alloc_managed(N).unwrap();
    x.copy_from_slice(&values());
    ops::add_one_managed(&gpu, x).unwrap();
    assert_eq!(x, plus_one());
}

#[test]
fn another_kernel_than_the_expected_one_runs() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    gpu.synchronize().unwrap();
}
