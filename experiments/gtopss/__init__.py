"""G-ToPSS: Fast Filtering of Graph-based Metadata (Petrovic, Liu, Jacobsen, WWW 2005). `README.md` has the claims."""
