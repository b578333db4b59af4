"""Scales and zeros of a bench: measured step by step, kept in a file."""
