"""The plan: work units, what precedes what, hours, and a schedule that is solved and proved."""
