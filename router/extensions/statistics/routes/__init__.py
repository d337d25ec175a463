"""The routes of statistics, a module for each kind of figures."""
