"""Arm interface of the bench, its digital twin, experiment logs and their comparison."""
