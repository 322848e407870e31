"""Efficient Filtering of RSS Documents on Computer Cluster (Liu, Petrovic, Jacobsen, 2007), as far as it concerns
matching: sections 4.1, 4.5 and 5. `README.md` has the claims."""
