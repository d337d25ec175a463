"""What is read of each type of document, from pages as they are written down here."""
