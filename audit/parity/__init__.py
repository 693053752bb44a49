"""What PyTorch does, and how far the scanned code is from it. Knows no framework and no database."""
