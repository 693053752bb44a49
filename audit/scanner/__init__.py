"""The scanner: extract, link, judge. Knows no framework and no database."""
