"""Seeded faults of kernels and compiler, each of which the differential test must catch."""
