"""Publish/subscribe for RDF: standing queries matched exactly against every publication."""
