"""
One suite of checks for whatever answers the wire: emulator, firmware in QEMU, a real board.

They are the sentences of `docs/rig_protocol.md`. What they assert are answers, counters and board
time; never how long something took on the host.
"""
