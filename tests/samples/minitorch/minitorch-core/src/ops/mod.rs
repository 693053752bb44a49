//! Operators without history of their own.

pub mod cumulative;
pub mod elementwise;
pub mod rearrange;
pub mod rounding;
