"""What `intent-router new` begins with: whole files, which work as they are."""
