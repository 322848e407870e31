"""The slow reader: an oracle that shares no line with the product. It imports nothing from `triplecast`."""
