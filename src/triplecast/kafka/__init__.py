"""Documents from a Kafka topic, and notifications to one (docs/kafka.md)."""

from triplecast.kafka.connection import Kafka, settle_group

__all__ = ["Kafka", "settle_group"]
