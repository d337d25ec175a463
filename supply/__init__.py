"""What intent-router is made of: locked, licensed, listed. docs/supply-chain.md tells of it."""
