@group(0) @binding(0) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn gelu(@builtin(global_invocation_id) id: vec3<u32>) {
    let v = x[id.x];
    x[id.x] = 0.5 * v * (1.0 + tanh(0.7978846 * (v + 0.044715 * v * v * v)));
}
