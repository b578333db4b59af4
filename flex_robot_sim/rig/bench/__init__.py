"""Simulated bench: parts, motor models, the arm, and the conversion of efforts for the drives."""
