"""Migration reports: one document of what was measured, and the formats it is written in. No framework."""
