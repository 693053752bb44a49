"""Reading the machinery."""
