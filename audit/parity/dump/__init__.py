"""Write down what an installed PyTorch does. Needs the standard library, torch and what torchgen needs."""
