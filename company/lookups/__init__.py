"""Lookups of flow files that know this company: see `activities.look_up.lookup`."""
