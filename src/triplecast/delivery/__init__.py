"""Delivery: what the outbox has for a subscription, sent to where its subscriber wants it."""
