"""Rigid motion: rotations, screws, and 6D inertias."""
