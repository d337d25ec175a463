"""What a run says to people: questions, help, and values in their language."""
