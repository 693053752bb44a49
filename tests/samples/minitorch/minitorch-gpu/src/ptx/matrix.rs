//! Kernels over matrices and index lists.

/// `out[i] = x[index[i]]`.
pub const GATHER_PTX: &str = //~ ok FT017: assembles
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry gather_kernel(
    .param .u64 x, .param .u64 index, .param .u64 out, .param .u32 n
) {
    .reg .pred %p;
    .reg .b32 %r<7>;
    .reg .b64 %rd<8>;
    .reg .f32 %f;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p, %r4, %r5;
    @%p bra DONE;
    ld.param.u64 %rd1, [index];
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r6, [%rd1];
    ld.param.u64 %rd3, [x];
    mul.wide.u32 %rd4, %r6, 4;
    add.u64 %rd3, %rd3, %rd4;
    ld.global.f32 %f, [%rd3];
    ld.param.u64 %rd5, [out];
    add.u64 %rd5, %rd5, %rd2;
    st.global.f32 [%rd5], %f;
DONE:
    ret;
}
";

/// Matrix product, one thread an element.
pub const MATMUL_PTX: &str = //~ ok FT017: assembles
    "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry matmul_kernel(
    .param .u64 a, .param .u64 b, .param .u64 out, .param .u32 m, .param .u32 k, .param .u32 n
) {
    .reg .pred %p<3>;
    .reg .b32 %r<14>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [m];
    ld.param.u32 %r6, [k];
    ld.param.u32 %r7, [n];
    mul.lo.u32 %r8, %r5, %r7;
    setp.ge.u32 %p1, %r4, %r8;
    @%p1 bra DONE;
    div.u32 %r9, %r4, %r7;
    rem.u32 %r10, %r4, %r7;
    ld.param.u64 %rd1, [a];
    mul.lo.u32 %r11, %r9, %r6;
    mul.wide.u32 %rd2, %r11, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.param.u64 %rd3, [b];
    mul.wide.u32 %rd4, %r10, 4;
    add.u64 %rd3, %rd3, %rd4;
    mul.wide.u32 %rd5, %r7, 4;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r12, 0;
LOOP:
    setp.ge.u32 %p2, %r12, %r6;
    @%p2 bra STORE;
    ld.global.f32 %f2, [%rd1];
    ld.global.f32 %f3, [%rd3];
    fma.rn.f32 %f1, %f2, %f3, %f1;
    add.u64 %rd1, %rd1, 4;
    add.u64 %rd3, %rd3, %rd5;
    add.u32 %r12, %r12, 1;
    bra LOOP;
STORE:
    ld.param.u64 %rd6, [out];
    mul.wide.u32 %rd7, %r4, 4;
    add.u64 %rd6, %rd6, %rd7;
    st.global.f32 [%rd6], %f1;
DONE:
    ret;
}
";

/// `y += x` on pairs of bf16, for Ampere and later.
pub const AXPY_BF16_PTX: &str = //~ ok FT017: says sm_80 itself, where bf16x2 exists
    "\
.version 7.8
.target sm_80
.address_size 64

.visible .entry axpy_bf16(
    .param .u64 x, .param .u64 y, .param .u32 n
) {
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    setp.ge.u32 %p, %r1, %r2;
    @%p bra DONE;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.b32 %r3, [%rd1];
    ld.global.b32 %r4, [%rd2];
    mov.b32 %r5, 0x3F803F80;
    fma.rn.bf16x2 %r6, %r3, %r5, %r4;
    st.global.b32 [%rd2], %r6;
DONE:
    ret;
}
";
