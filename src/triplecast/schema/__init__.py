"""The schema of rules: which properties classes have, what they hold, and which references are strong."""

from triplecast.schema.read import read_schema, restore_schema
from triplecast.schema.schema import NO_SCHEMA, RdfSchema

__all__ = ["NO_SCHEMA", "RdfSchema", "read_schema", "restore_schema"]
