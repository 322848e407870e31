"""Operators: costly predicates from outside, evaluated last and as seldom as possible."""
