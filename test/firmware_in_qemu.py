"""Shared by tests of the firmware in QEMU: the tools and the first frame."""

import pytest

from flex_robot_sim.rig.board import qemu
from flex_robot_sim.rig.board.firmware import TOOLS, missing_tools
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.protocol import MAJOR, MINOR, SCHEMA_CRC, Hello

MISSING = missing_tools({**TOOLS, **qemu.PACKAGES})
needs_qemu = pytest.mark.skipif(bool(MISSING), reason=MISSING)
HELLO = encode(Hello(MAJOR, MINOR, SCHEMA_CRC, 1234))
WRAP = 2**32  # of the clock of the board [us]
