"""Changing the machinery: one function for each act, its audit row in the same transaction."""
