"""Real documents against generated subscriptions."""
