"""Sessions of `flexsim tune` with a public arm in MuJoCo, whose joint stiffness is hidden."""

import pytest

from benchmarks.tune_hidden_arms import tuned

pytestmark = pytest.mark.long


@pytest.mark.parametrize('seed', range(4))
def test_a_unitree_z1_is_tuned_by_its_logs(seed):
    """Some logs do not show its sideways mode, whose frequency changes by a factor of two."""
    pytest.importorskip('mujoco')
    found = tuned('z1', seed, checks=4)
    if found is None:
        pytest.skip('the robots of example-robot-data are not installed')
    assert found['frequency_error'] < 0.03
    assert found['left'] < 0.1 and found['measured_left'] < 0.1
