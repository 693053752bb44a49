"""What became of an earlier result: what the code that stands in its place does now."""
