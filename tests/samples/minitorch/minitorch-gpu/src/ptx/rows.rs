//! Kernels that fold a row in one thread.

/// The sum of each row.
pub const ROW_SUM_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry row_sum_kernel(
    .param .u64 x, .param .u64 out, .param .u32 rows, .param .u32 cols
) {
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [rows];
    ld.param.u32 %r6, [cols];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [x];
    mul.lo.u32 %r7, %r4, %r6;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r8, 0;
LOOP:
    setp.ge.u32 %p2, %r8, %r6;
    @%p2 bra STORE;
    ld.global.f32 %f2, [%rd1];
    add.f32 %f1, %f1, %f2;
    add.u64 %rd1, %rd1, 4;
    add.u32 %r8, %r8, 1;
    bra LOOP;
STORE:
    ld.param.u64 %rd3, [out];
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd3, %rd3, %rd4;
    st.global.f32 [%rd3], %f1;
DONE:
    ret;
}
";

/// The least of each row.
pub const ROW_MIN_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry row_min_kernel(
    .param .u64 x, .param .u64 out, .param .u32 rows, .param .u32 cols
) {
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [rows];
    ld.param.u32 %r6, [cols];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [x];
    mul.lo.u32 %r7, %r4, %r6;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.f32 %f1, 0f7F800000;
    mov.u32 %r8, 0;
LOOP:
    setp.ge.u32 %p2, %r8, %r6;
    @%p2 bra STORE;
    ld.global.f32 %f2, [%rd1];
    min.f32 %f1, %f1, %f2;
    add.u64 %rd1, %rd1, 4;
    add.u32 %r8, %r8, 1;
    bra LOOP;
STORE:
    ld.param.u64 %rd3, [out];
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd3, %rd3, %rd4;
    st.global.f32 [%rd3], %f1;
DONE:
    ret;
}
";

/// The largest of each row.
pub const ROW_MAX_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry row_max_kernel(
    .param .u64 x, .param .u64 out, .param .u32 rows, .param .u32 cols
) {
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [rows];
    ld.param.u32 %r6, [cols];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [x];
    mul.lo.u32 %r7, %r4, %r6;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.f32 %f1, 0fFF800000;
    mov.u32 %r8, 0;
LOOP:
    setp.ge.u32 %p2, %r8, %r6;
    @%p2 bra STORE;
    ld.global.f32 %f2, [%rd1];
    max.f32 %f1, %f1, %f2;
    add.u64 %rd1, %rd1, 4;
    add.u32 %r8, %r8, 1;
    bra LOOP;
STORE:
    ld.param.u64 %rd3, [out];
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd3, %rd3, %rd4;
    st.global.f32 [%rd3], %f1;
DONE:
    ret;
}
";

/// The product of each row.
pub const ROW_PROD_PTX: &str =
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry row_prod_kernel(
    .param .u64 x, .param .u64 out, .param .u32 rows, .param .u32 cols
) {
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [rows];
    ld.param.u32 %r6, [cols];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra DONE;
    ld.param.u64 %rd1, [x];
    mul.lo.u32 %r7, %r4, %r6;
    mul.wide.u32 %rd2, %r7, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.f32 %f1, 0f3F800000;
    mov.u32 %r8, 0;
LOOP:
    setp.ge.u32 %p2, %r8, %r6;
    @%p2 bra STORE;
    ld.global.f32 %f2, [%rd1];
    mul.f32 %f1, %f1, %f2;
    add.u64 %rd1, %rd1, 4;
    add.u32 %r8, %r8, 1;
    bra LOOP;
STORE:
    ld.param.u64 %rd3, [out];
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd3, %rd3, %rd4;
    st.global.f32 [%rd3], %f1;
DONE:
    ret;
}
";
