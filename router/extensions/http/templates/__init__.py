"""What `intent-router new tool` begins with: whole files, which work as they are."""
