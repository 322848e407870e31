"""Values of terms, their comparison, arithmetic, casts and order, for the index, the evaluator and explain.

Sources: `docs/semantics.md` 3, SPARQL 1.1 Query section 17, XML Schema 1.1 Part 2. Nothing here changes a term.
"""
