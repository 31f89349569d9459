"""The paper's network in torch: equations, losses, and the kernels as differentiable functions."""
