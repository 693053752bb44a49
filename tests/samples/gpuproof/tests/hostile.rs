//! Tests that harm whoever runs them, or hide what they do.

use std::ffi::{c_char, c_int, c_uint, c_void, CString};
use std::io::Write;
use std::mem::transmute;
use std::ptr::null_mut;

use gpuproof::library::Library;
use gpuproof::{ops, Gpu};

extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn exit(code: c_int) -> !;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn getpid() -> c_int;
    fn creat(path: *const c_char, mode: c_uint) -> c_int;
    fn close(descriptor: c_int) -> c_int;
}

const SIGKILL: c_int = 9;

fn launch_once() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&[0.0; 4096]).unwrap();
    ops::add_one(&gpu, &x).unwrap();
    assert_eq!(x.download().unwrap()[0], 1.0);
}

#[test]
fn is_killed_after_100_launches() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&[0.0; 4096]).unwrap();
    ops::add_one_times(&gpu, &x, 100).unwrap();
    unsafe { kill(getpid(), SIGKILL) };
}

#[test]
fn a_forked_child_launches() {
    let child = unsafe { fork() };
    if child == 0 {
        let done = std::panic::catch_unwind(launch_once);
        unsafe { exit(done.is_err() as c_int) };
    }
    let mut status = 0;
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}

#[test]
fn leaves_a_child_behind() {
    if unsafe { fork() } == 0 {
        std::thread::sleep(std::time::Duration::from_secs(600));
        unsafe { exit(0) };
    }
    launch_once();
}

#[test]
fn forks_without_end() {
    loop {
        match unsafe { fork() } {
            0 => {
                std::thread::sleep(std::time::Duration::from_secs(600));
                unsafe { exit(0) };
            }
            // The system gives no more: wait for some to end.
            -1 => std::thread::sleep(std::time::Duration::from_millis(10)),
            _ => {}
        }
    }
}

#[test]
fn writes_a_gigabyte_of_output() {
    let line = [b'x'; 1 << 20];
    let mut out = std::io::stdout();
    (0..1024).for_each(|_| out.write_all(&line).unwrap());
    out.write_all(b"\n").unwrap();
    launch_once();
}

#[test]
fn fills_the_disk() {
    let block = vec![7u8; 1 << 22];
    for number in 0.. {
        std::fs::write(format!("block-{number}"), &block).unwrap();
    }
}

#[test]
fn writes_where_it_may_not() {
    let path = CString::new("/usr/bin/gpuproof-was-here").unwrap();
    let descriptor = unsafe { creat(path.as_ptr(), 0o644) };
    if descriptor >= 0 {
        unsafe { close(descriptor) };
    }
    assert!(descriptor < 0, "the system's folders are open");
    launch_once();
}

#[test]
fn subscribes_before_the_tracer_can() {
    let path = std::env::var("FERROAUDIT_CUPTI").unwrap_or_else(|_| "libcupti.so.13".to_string());
    if let Some(cupti) = Library::open(&[&path]) {
        type Subscribe = unsafe extern "C" fn(*mut *mut c_void, Callback, *mut c_void) -> c_int;
        type Callback = unsafe extern "C" fn(*mut c_void, c_int, c_uint, *const c_void);
        unsafe extern "C" fn ignore(_: *mut c_void, _: c_int, _: c_uint, _: *const c_void) {}
        let subscribe: Subscribe = unsafe { transmute(cupti.symbol("cuptiSubscribe").unwrap()) };
        let mut subscriber = null_mut();
        assert_eq!(unsafe { subscribe(&mut subscriber, ignore, null_mut()) }, 0);
    }
    launch_once();
}
