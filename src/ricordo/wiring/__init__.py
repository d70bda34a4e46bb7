"""Settings to objects: the only place where adapters and hosts meet."""
