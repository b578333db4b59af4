"""Calibration of a bench: guided measurements, fits of the constants, and the file format."""
