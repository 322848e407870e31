"""MDV's filter, a publish & subscribe algorithm on relational technology (2002), as its text has it (`README.md`)."""
