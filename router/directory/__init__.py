"""Who is who: people, their managers, roles and delegates, from a file or an address."""
