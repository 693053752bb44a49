//! Device sources of the fused operators, compiled by whichever backend is there.

use crate::error::{TorchError, TorchResult};

/// `out = relu(x + bias)`, for NVIDIA backends.
pub const ADD_RELU_PTX: &str = //~ FT015
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry add_relu(
    .param .u64 x, .param .u64 bias, .param .u64 out, .param .u32 n
) {
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [bias];
    ld.param.u64 %rd3, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd4, %r5, 4;
    add.u64 %rd5, %rd1, %rd4;
    add.u64 %rd6, %rd2, %rd4;
    add.u64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    max.f32 %f3, %f3, 0f00000000;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}
";

/// The same for WebGPU backends.
pub static ADD_RELU_WGSL: &str = //~ FT015
    r#"
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn add_relu(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&out)) {
        out[id.x] = max(x[id.x] + bias[id.x], 0.0);
    }
}
"#;

/// CUDA C for runtime compilation.
pub fn scale_shift_source(scale: f32, shift: f32) -> String {
    format!( //~ FT015
        "extern \"C\" __global__ void scale_shift(float* x, int n) {{\n\
         int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
         if (i < n) x[i] = x[i] * {scale}f + {shift}f;\n}}\n"
    )
}

/// Sources that live in files of their own.
pub fn library_source(name: &str) -> TorchResult<&'static str> {
    match name {
        "softmax" => Ok(include_str!("../kernels/softmax.cu")), //~ FT015
        "gelu" => Ok(include_str!("../kernels/gelu.wgsl")), //~ FT015
        "license" => Ok(include_str!("../kernels/NOTICE.txt")), //~ ok FT015: a text that is no kernel
        _ => Err(TorchError::KernelFailed { kernel: "library_source" }),
    }
}

/// The entry points a backend may look up, by name only.
pub const ENTRY_POINTS: &[&str] = &["add_relu", "scale_shift", "softmax_rows", "gelu"]; //~ ok FT015: names, no bodies

/// Zeroes a buffer.
pub const ZERO_PTX: &[u8] = //~ FT015
    b".version 7.0\n.target sm_70\n.address_size 64\n\
      .visible .entry zero(.param .u64 out) {\n\
      .reg .b32 %r1; .reg .b64 %rd<4>;\n\
      mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4;\n\
      ld.param.u64 %rd2, [out]; add.u64 %rd3, %rd2, %rd1;\n\
      st.global.u32 [%rd3], 0;\n ret;\n}\n";

/// Kernel name of an operator and dtype.
pub fn kernel_name(op: &str, dtype: &str) -> String {
    format!("{op}_{dtype}_kernel") //~ ok FT015: builds a name
}

/// A launch geometry for `n` elements.
pub fn grid_for(n: usize) -> (u32, u32) {
    let block = 256u32; //~ ok FT015: arithmetic about a launch, no device code
    ((n as u32).div_ceil(block).max(1), block)
}

/// The register names the assembler reserves.
pub const RESERVED: &[&str] = &["%tid", "%ntid", "%ctaid", "%laneid"]; //~ ok FT015: a word list

/// Whether a text looks like device assembly, for diagnostics.
pub fn looks_like_ptx(text: &str) -> bool {
    text.contains(".visible .entry") && text.contains(".target") //~ ok FT015: recognises device code, holds none
}
