//! Tracing and code generation.
//!
//! Removed the silent CPU fallback in `strict_executor`; it now returns an error. //~ ok FT018: the vocabulary of the policy
#![allow(dead_code)]

pub mod codegen;
pub mod codegen_gpu;
pub mod graph;
pub mod runner;
