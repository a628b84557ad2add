"""One SQLite file an agent: what was derived from the notes, and can be derived again."""
