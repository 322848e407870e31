"""Efficient Filtering of RSS Documents on Computer Cluster (Liu, Petrovic, Jacobsen, 2007): containment, merging and
the cluster, sections 4.2 to 4.4 and 5. `README.md` has the claims."""
