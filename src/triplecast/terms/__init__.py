"""Values of terms, comparisons, arithmetic, casts and order: one library for the native join, the evaluator and
explain.

Source: `docs/semantics.md` 3, SPARQL 1.1 Query section 17 and XML Schema 1.1 Part 2. Terms are compared as published;
nothing here changes one.
"""
