"""Closed loops: rows between two bodies, solved within the steps of an arm."""
