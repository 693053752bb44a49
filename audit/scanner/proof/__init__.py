"""What proves a function: the tests that reach it, the kernels it launches, the policy's questions."""
