//! Kernels of one input.

/// `-x`.
pub const NEG_PTX: &str = //~ ok FT017: assembles
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry neg_kernel(
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
    neg.f32 %f10, %f1;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `max(x, 0)`.
pub const RELU_PTX: &str = //~ ok FT017: assembles
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry relu_kernel(
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
    mov.f32 %f2, 0f00000000;
    max.f32 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// The logistic function.
pub const SIGMOID_PTX: &str = //~ ok FT017: single precision has ex2.approx
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry sigmoid_kernel(
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
    neg.f32 %f2, %f1;
    mul.f32 %f2, %f2, 0f3FB8AA3B;
    ex2.approx.f32 %f2, %f2;
    add.f32 %f2, %f2, 0f3F800000;
    rcp.rn.f32 %f10, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// The hyperbolic tangent, `2 / (1 + exp(-2x)) - 1`.
pub const TANH_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry tanh_kernel(
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
    mul.f32 %f2, %f1, 0fC0000000;
    mul.f32 %f2, %f2, 0f3FB8AA3B;
    ex2.approx.f32 %f2, %f2;
    add.f32 %f2, %f2, 0f3F800000;
    mov.f32 %f3, 0f40000000;
    div.rn.f32 %f2, %f3, %f2;
    sub.f32 %f10, %f2, 0f3F800000;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `exp(x)`.
pub const EXP_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry exp_kernel(
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
    mul.f32 %f2, %f1, 0f3FB8AA3B;
    ex2.approx.f32 %f10, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `|x|`.
pub const ABS_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry abs_kernel(
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
    abs.f32 %f10, %f1;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `sqrt(x)`.
pub const SQRT_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry sqrt_kernel(
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
    sqrt.rn.f32 %f10, %f1;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `a * x` for a scalar.
pub const SCALE_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry scale_kernel(
    .param .u64 x, .param .u64 out, .param .f32 a, .param .u32 n
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
    ld.param.f32 %f9, [a];
    mul.f32 %f10, %f1, %f9;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// The same value everywhere.
pub const FILL_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry fill_kernel(
    .param .u64 out, .param .f32 a, .param .u32 n
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
    ld.param.f32 %f9, [a];
    mov.f32 %f10, %f9;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";
