"""Working days and working hours, with public holidays and the days worked in exchange."""
