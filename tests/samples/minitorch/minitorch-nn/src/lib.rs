//! Layers.
//!
//! GPU acceleration with automatic CPU fallback in all layers. //~ FT018
#![allow(dead_code)]

pub mod attention;
pub mod conv;
pub mod dropout;
pub mod embedding;
pub mod init;
pub mod norm;
pub mod pixel;
pub mod utils;
