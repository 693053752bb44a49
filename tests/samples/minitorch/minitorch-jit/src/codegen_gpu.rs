//! Sources for GPU targets. The generator's output is device code.

use crate::graph::{Graph, Node};

/// CUDA C of an elementwise chain.
pub fn generate_cuda_source(graph: &Graph) -> String {
    let mut body = String::new();
    for node in &graph.nodes {
        body.push_str(&match node {
            Node::Input => String::new(),
            Node::Add(b) => format!("  v = v + {b:?}f;\n"),
            Node::Scale(a) => format!("  v = v * {a:?}f;\n"),
            Node::Relu => "  v = fmaxf(v, 0.0f);\n".to_owned(),
            Node::Exp => "  v = expf(v);\n".to_owned(),
        });
    }
    format!( //~ ok FT015: the crate whose work is to generate kernels
        "extern \"C\" __global__ void fused(const float* x, float* out, unsigned n) {{\n\
         unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  float v = x[i];\n{body}  out[i] = v;\n}}\n"
    )
}

/// PTX of the same chain.
pub fn generate_ptx_source(graph: &Graph) -> String {
    let mut body = String::new();
    for node in &graph.nodes {
        match node {
            Node::Input => {}
            Node::Add(b) => body.push_str(&format!("    add.f32 %f1, %f1, 0f{:08X};\n", b.to_bits())),
            Node::Scale(a) => body.push_str(&format!("    mul.f32 %f1, %f1, 0f{:08X};\n", a.to_bits())),
            Node::Relu => body.push_str("    max.f32 %f1, %f1, 0f00000000;\n"),
            _ => {} //~ FT003
        }
    }
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry fused(.param .u64 x, .param .u64 out, .param .u32 n) {{\n\
         .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;\n\
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n\
         ld.param.u32 %r5, [n]; setp.ge.u32 %p, %r4, %r5; @%p bra DONE;\n\
         ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r4, 4;\n\
         add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3; ld.global.f32 %f1, [%rd1];\n{body}\
         st.global.f32 [%rd2], %f1;\nDONE: ret;\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relu_becomes_a_maximum() {
        let graph = Graph::default().then(Node::Relu);
        assert!(generate_cuda_source(&graph).contains("fmaxf"));
    }
}
