"""Programs for whoever works on the code."""
