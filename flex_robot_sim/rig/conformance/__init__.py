"""
Conformance suite for every implementation of the protocol: emulator, firmware in QEMU, real board.

Each check is a statement of `docs/rig_protocol.md`. Checks assert on answers, counters and board
time, never on durations measured by the host.
"""
