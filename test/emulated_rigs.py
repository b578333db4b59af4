"""An emulated rig and its board, as fixtures."""

import pytest


@pytest.fixture(scope='module')
def rig():
    """Return an emulated rig; its bench is renewed for each test: to load it takes a while."""
    from flex_robot_sim.rig.board.emulated_rig import (
        rig_of,  # loads the dynamics: not for every test
    )

    rig = rig_of()
    rig.step()  # compile before anything runs in real time
    return rig


@pytest.fixture
def patient_board():
    """Let the watchdog wait for a host that a busy machine holds up, until `undo()` of this."""
    from flex_robot_sim.rig.board import board_state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board_state, 'WATCHDOG', 500_000)
        yield patch


@pytest.fixture
def emulator(rig, tmp_path):
    """Return an emulator behind its own port, which outlives its clients."""
    from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
    from flex_robot_sim.rig.board.emulator import Emulator

    rig.bench.restore((0.15, 0.0))
    with Emulator(tmp_path / 'rig', EmulatedRig(rig.bench)) as emulator:
        yield emulator
