"""Embedders that memory-core brings."""
