// Row softmax, one block a row.
extern "C" __global__ void softmax_rows(const float* x, float* out, int cols) {
    const float* row = x + blockIdx.x * cols;
    float top = row[0];
    for (int i = 1; i < cols; ++i) top = fmaxf(top, row[i]);
    float total = 0.0f;
    for (int i = 0; i < cols; ++i) total += expf(row[i] - top);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[blockIdx.x * cols + i] = expf(row[i] - top) / total;
}
