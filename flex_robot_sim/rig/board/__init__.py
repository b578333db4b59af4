"""Whoever plays the board: emulated, or the real firmware in QEMU, each behind a port."""
