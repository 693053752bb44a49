//! Does not compile: it calls an operator that nobody has written.

#[test]
fn lgamma_runs_on_the_device() {
    assert!(gpuproof::ops::lgamma(&[1.0]).is_ok());
}
