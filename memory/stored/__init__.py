"""The index in the database: written message by message, read question by question."""
