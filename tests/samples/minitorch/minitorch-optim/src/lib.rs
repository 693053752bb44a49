//! Optimisers.
//!
//! `Adam` gracefully falls back to the CPU if the GPU step fails. //~ FT018
#![allow(dead_code)]

pub mod adam;
pub mod sgd;
