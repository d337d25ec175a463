"""The REST API: who asks, what they may, and how a turn is handed in and answered."""
