"""Measures a machine. What can't be done there is concluded from the readings, and from nothing else."""
