"""Generated publications and subscriptions, and the product against its oracles on them."""
