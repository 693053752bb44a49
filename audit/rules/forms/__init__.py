"""Syntactic forms that a rule tells apart, where they would not fit into its module."""
