"""Rules of the house that no linter knows."""
