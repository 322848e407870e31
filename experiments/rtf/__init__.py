"""RTF: full-text filtering of RDF publications (2016), its baseline iBroker, and their figures (`README.md`).

"Line" in these modules is a line of the paper's text as the project holds it beside the repository; sections are the
paper's.
"""
