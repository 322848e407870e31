"""Algebra to plans: what the index decides of a query, and under which keys it files it."""
