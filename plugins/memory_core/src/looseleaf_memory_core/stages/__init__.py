"""Ranking stages: pure functions from hits to hits."""
