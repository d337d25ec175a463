"""What `intent-router new` writes: files that work at once, from the templates beside them."""
