"""What can be recognised in a sentence: numbers, money, dates, durations, choices."""
