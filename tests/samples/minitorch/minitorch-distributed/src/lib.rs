//! Collectives between ranks.
#![allow(dead_code)]

pub mod collective;
pub mod gpu_collective;
pub mod nccl;
