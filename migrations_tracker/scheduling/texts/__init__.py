"""The plan as text: one module per format, each a pure function of the lines."""
