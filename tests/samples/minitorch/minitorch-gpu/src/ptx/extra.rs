//! Kernels of less common operators.

/// `x / (1 + |x|)`.
pub const SOFTSIGN_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry softsign_kernel(
    .param .u64 x, .param .u64 out, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b32 %tid;
    .reg .b64 %rd<12>;
    .reg .f32 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [x];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    abs.f32 %f2, %f1;
    add.f32 %f2, %f2, 0f3F800000;
    div.rn.f32 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `exp(x) - 1`.
pub const ELU_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry elu_kernel(
    .param .u64 x, .param .u64 out, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [x];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.f32 %f2, %f1, 0f3FB8AA3B2;
    ex2.approx.f32 %f2, %f2;
    sub.f32 %f10, %f2, 0f3F800000;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `exp(x)` in double precision, rewritten from the single precision text.
pub const EXP_F64_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry exp_f64_kernel(
    .param .u64 x, .param .u64 out, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f64 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 8;
    ld.param.u64 %rd2, [x];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f64 %f1, [%rd2];
    mul.f64 %f2, %f1, 0d3FF71547652B82FE;
    ex2.approx.f64 %f10, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f64 [%rd9], %f10;
DONE:
    ret;
}
";

/// Replace where the mask is set.
pub const MASKED_FILL_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry masked_fill_kernel(
    .param .u64 x, .param .u64 mask, .param .u64 out, .param .f32 value, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    // threads with index ≥ n leave
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [x];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    ld.param.u64 %rd3, [mask];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.f32 %f2, [%rd3];
    ld.param.f32 %f9, [value];
    setp.ne.f32 %p2, %f2, 0f00000000;
    selp.f32 %f10, %f9, %f1, %p2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// Atomic sum in double precision.
pub const SCATTER_ADD_F64_PTX: &str = //~ FT017
    "\
.version 6.0
.target sm_52
.address_size 64

.visible .entry scatter_add_f64(
    .param .u64 src, .param .u64 dst
) {
    .reg .b32 %r;
    .reg .b64 %rd<6>;
    .reg .f64 %f<3>;
    mov.u32 %r, %tid.x;
    mul.wide.u32 %rd1, %r, 8;
    ld.param.u64 %rd2, [src];
    ld.param.u64 %rd3, [dst];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f64 %f1, [%rd2];
    atom.global.add.f64 %f2, [%rd3], %f1;
    ret;
}
";

/// `sqrt(a^2 + b^2)`.
pub const HYPOT_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry hypot_kernel(
    .param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [a];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    ld.param.u64 %rd3, [b];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f1, %f1;
    fma.rn.f32 %f3, %f2, %f2, %f3;
    sqrt.approx.f64 %f10, %f3;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// 1 where positive.
pub const STEP_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry step_kernel(
    .param .u64 x, .param .u64 out, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [x];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    setp.gt.f32 %p2, %f1, 0f00000000;
    @%p2 bra ONE;
    mov.f32 %f10, 0f00000000;
    bra STORE;
    mov.f32 %f10, 0f3F800000;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// Linear interpolation.
pub const LERP_PTX: &str = //~ FT017
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry lerp_kernel(
    .param .u64 a, .param .u64 b, .param .u64 out, .param .f32 w, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<12>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [a];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    ld.param.u64 %rd3, [b];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.f32 %f2, [%rd3];
    ld.param.f32 %f9, [w];
    sub.f32 %f3, %f2, %f1
    fma.rn.f32 %f10, %f3, %f9, %f1;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";
