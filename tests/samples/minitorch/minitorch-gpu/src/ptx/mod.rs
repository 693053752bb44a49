//! Kernel texts, grouped by shape of their arguments.

pub mod binary;
pub mod extra;
pub mod matrix;
pub mod rows;
pub mod unary;

/// The header every text starts with; not a kernel by itself.
pub const HEADER: &str = ".version 7.0\n.target sm_70\n.address_size 64\n"; //~ ok FT017: a header, never loaded alone

/// An example of the reserved names, for the style guide of this folder.
pub const RESERVED_NAMES: &str = "%tid %ntid %ctaid %nctaid %laneid %warpid"; //~ ok FT017: no device code
