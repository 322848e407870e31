"""The papers that Triplecast descends from: their algorithms from their texts, their workloads, their figures, and the
engine as one more line in each (`README.md`). Imports `triplecast` and `benchmarks`; neither imports this."""
