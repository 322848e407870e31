"""Scalable Event Matching for Overlapping Subscriptions in Pub/Sub Systems (2007): sections 4 and 5 (`README.md`)."""
