//! Kernels of two inputs.

/// `a + b`.
pub const ADD_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry add_kernel(
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
    add.f32 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `a - b`.
pub const SUB_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry sub_kernel(
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
    sub.f32 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `a * b`.
pub const MUL_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry mul_kernel(
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
    mul.f32 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `max(a, b)`.
pub const MAX_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry max_kernel(
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
    max.f32 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// The gradient where the input was positive.
pub const RELU_BACKWARD_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry relu_backward_kernel(
    .param .u64 grad, .param .u64 x, .param .u64 out, .param .u32 n
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
    ld.param.u64 %rd2, [grad];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f32 %f1, [%rd2];
    ld.param.u64 %rd3, [x];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.f32 %f2, [%rd3];
    mov.f32 %f3, 0f00000000;
    setp.gt.f32 %p2, %f2, %f3;
    selp.f32 %f10, %f1, %f3, %p2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f32 [%rd9], %f10;
DONE:
    ret;
}
";

/// `a + b` in double precision.
pub const ADD_F64_PTX: &str = //~ ok FT017: assembles for every target
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry add_f64_kernel(
    .param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n
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
    ld.param.u64 %rd2, [a];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.f64 %f1, [%rd2];
    ld.param.u64 %rd3, [b];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.f64 %f2, [%rd3];
    add.f64 %f10, %f1, %f2;
    ld.param.u64 %rd9, [out];
    add.u64 %rd9, %rd9, %rd1;
    st.global.f64 [%rd9], %f10;
DONE:
    ret;
}
";
