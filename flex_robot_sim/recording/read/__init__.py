"""Readers of recordings: one file per format, and `read_recording`, which tries all of them."""
