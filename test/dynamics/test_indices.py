"""
Compiled functions never use negative indices, which would be undefined there.

The test runs them in plain Python, with arrays that refuse a negative index; this file is the
program.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from random_arms import every_feature, random_robot, random_state

from flex_robot_sim import SimulationSettings, load
from flex_robot_sim.dynamics.arm_state import make_state, make_step_settings
from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.integrators import advance, advance_explicitly
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.dynamics.monitors import make_watch
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow


class NonNegativeIndexArray(np.ndarray):
    """An array that rejects negative indices."""

    def __getitem__(self, key):
        """Return the same as Numba, or raise IndexError."""
        check_not_negative(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        """Write the same as Numba, or raise IndexError."""
        check_not_negative(key)
        super().__setitem__(key, value)


def check_not_negative(key):
    """Raise IndexError if one of some indices is negative."""
    for index in key if isinstance(key, tuple) else (key,):
        if isinstance(index, (int, np.integer)) and index < 0:
            raise IndexError(f'{key} counts from the end')


def with_checked_arrays(table):
    """Return a NamedTuple whose arrays reject negative indices."""
    return type(table)(*(array.view(NonNegativeIndexArray) for array in table))


def step_all():
    """Take steps with arms of every kind; print how many arms there were."""
    sources = [
        *shipped_robots(),
        every_feature(damping=True),
        *(random_robot(seed, damping=True) for seed in (3, 4)),
    ]
    for seed, source in enumerate(sources):
        arm = load(source)
        q, qd = random_state(arm, seed)
        arrays, work, watch, loads, state = map(
            with_checked_arrays,
            (
                arm.arrays,
                make_workspace(arm.arrays),
                make_watch(arm, SimulationSettings()),
                make_loads(arm, [Push(list(arm.frames)[-1], (1.0, 2.0, 3.0))], closed_loops=True),
                make_state(arm),
            ),
        )
        state.q[:], state.qd[:], state.effort[:] = q, qd, 1.0
        for scheme, time_step, steps in (
            ('implicit_midpoint', 1e-4, 2),
            ('rk4', 1e-9, 1),
            ('forward_euler', 1e-9, 1),
        ):
            settings = with_checked_arrays(
                make_step_settings(SimulationSettings(scheme=scheme, time_step=time_step))
            )
            step = advance if scheme == 'implicit_midpoint' else advance_explicitly
            step(arrays, loads, settings, state, steps, watch, work)
        set_energies(arrays, state.q, state.qd, work, work.energy)
        assert np.isfinite(state.q).all()
    print(len(sources))


@pytest.mark.long
def test_no_step_uses_negative_indices():
    environment = {
        **os.environ,
        'NUMBA_DISABLE_JIT': '1',
        'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
    }
    result = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, timeout=300, env=environment
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert int(result.stdout) > 10


if __name__ == '__main__':
    step_all()
