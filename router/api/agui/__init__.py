"""The AG-UI protocol: a run is a turn; what asks a person is its interrupt."""
