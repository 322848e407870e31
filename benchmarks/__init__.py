"""Benchmarks: ``make bench``. Workloads are generated, seeded and defined in `benchmarks.workloads`."""
