//! The kernels, as PTX text. All but one assemble.

/// Writes an elementwise kernel `x[i] = body(x[i])` over `n` values; `body` turns %f1 into %f2.
macro_rules! elementwise {
    ($name:literal, $body:literal) => {
        concat!(
            ".version 7.0\n.target sm_70\n.address_size 64\n",
            ".visible .entry ", $name, "(.param .u64 x, .param .u32 n)\n{\n",
            "    .reg .pred %p1;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<5>;\n    .reg .f32 %f<4>;\n",
            "    ld.param.u64 %rd1, [x];\n    ld.param.u32 %r1, [n];\n",
            "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n",
            "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra DONE;\n",
            "    cvta.to.global.u64 %rd2, %rd1;\n    mul.wide.u32 %rd3, %r5, 4;\n    add.u64 %rd4, %rd2, %rd3;\n",
            "    ld.global.f32 %f1, [%rd4];\n    ", $body, "\n    st.global.f32 [%rd4], %f2;\n",
            "DONE:\n    ret;\n}\n"
        )
    };
}

pub const ADD_ONE: &str = elementwise!("add_one", "add.f32 %f2, %f1, 0f3F800000;");
pub const RELU: &str = elementwise!("relu", "max.f32 %f2, %f1, 0f00000000;");
pub const SQUARE: &str = elementwise!("square", "mul.f32 %f2, %f1, %f1;");
/// Names a register that is not declared, so no driver takes it.
pub const SOFTPLUS: &str = elementwise!("softplus", "ex2.approx.f32 %f9, %f1;");

/// Adds all `n` values of `x` to `out[0]`.
pub const SUM: &str = concat!(
    ".version 7.0\n.target sm_70\n.address_size 64\n",
    ".visible .entry sum(.param .u64 x, .param .u32 n, .param .u64 out)\n{\n",
    "    .reg .pred %p1;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<7>;\n    .reg .f32 %f<3>;\n",
    "    ld.param.u64 %rd1, [x];\n    ld.param.u32 %r1, [n];\n    ld.param.u64 %rd5, [out];\n",
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n",
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra DONE;\n",
    "    cvta.to.global.u64 %rd2, %rd1;\n    mul.wide.u32 %rd3, %r5, 4;\n    add.u64 %rd4, %rd2, %rd3;\n",
    "    ld.global.f32 %f1, [%rd4];\n    cvta.to.global.u64 %rd6, %rd5;\n",
    "    atom.global.add.f32 %f2, [%rd6], %f1;\nDONE:\n    ret;\n}\n"
);

/// Subtracts `total[0] / n` from each of the `n` values of `x`.
pub const SUB_MEAN: &str = concat!(
    ".version 7.0\n.target sm_70\n.address_size 64\n",
    ".visible .entry sub_mean(.param .u64 x, .param .u32 n, .param .u64 total)\n{\n",
    "    .reg .pred %p1;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<7>;\n    .reg .f32 %f<6>;\n",
    "    ld.param.u64 %rd1, [x];\n    ld.param.u32 %r1, [n];\n    ld.param.u64 %rd5, [total];\n",
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n",
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n    setp.ge.u32 %p1, %r5, %r1;\n    @%p1 bra DONE;\n",
    "    cvta.to.global.u64 %rd2, %rd1;\n    mul.wide.u32 %rd3, %r5, 4;\n    add.u64 %rd4, %rd2, %rd3;\n",
    "    cvta.to.global.u64 %rd6, %rd5;\n    ld.global.f32 %f1, [%rd6];\n    cvt.rn.f32.u32 %f2, %r1;\n",
    "    div.rn.f32 %f3, %f1, %f2;\n    ld.global.f32 %f4, [%rd4];\n    sub.f32 %f5, %f4, %f3;\n",
    "    st.global.f32 [%rd4], %f5;\nDONE:\n    ret;\n}\n"
);
