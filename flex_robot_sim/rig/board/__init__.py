"""Boards without hardware: emulated in Python, or the real firmware in QEMU, behind a port."""
