"""Triplecast and its peers in one run, on the same publications and subscriptions: ``make peers``."""
