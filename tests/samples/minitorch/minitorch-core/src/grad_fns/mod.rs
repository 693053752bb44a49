//! Operators with history, and their backward halves.

pub mod activation;
pub mod indexing;
pub mod reduction;
