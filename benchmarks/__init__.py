"""Measurements of speed and of accuracy."""
