"""Pickles of arms and objects made from them, in process pools and from another version."""

import copy
import pickle
import subprocess
import sys
import zlib
from dataclasses import fields

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from random_arms import every_feature, random_robot

import flex_robot_sim as frs
from flex_robot_sim import version
from flex_robot_sim.batch.batch_state import BatchState
from flex_robot_sim.description.dc_motor import DcMotor
from flex_robot_sim.description.links import ElasticBeam, Joint, JointFriction, Link
from flex_robot_sim.description.sensors import Encoder, Imu
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.simulation.simulated_arm import SAVED_FIELDS
from flex_robot_sim.simulation.simulation_state import SimulationState
from flex_robot_sim.util import serialization
from flex_robot_sim.util.exceptions import SettingError

# hash of the names in all states, by format; a new hash needs a new format
NAMES_OF_STATES = {
    1: '8c593b35',
    2: 'ce7f9a43',
    3: '0b54cf39',
    4: 'ad3752e2',
    5: '1cab1266',
    6: 'd94c9593',
    7: '5d10d2eb',
    8: '421fb6ec',
    9: '8ad0ec09',
    10: 'b0f61333',
    11: '84d841b2',
}

POOL = """\
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import flex_robot_sim as frs


def stepped(moving):
    moving.step(25)
    return moving


if __name__ == '__main__':
    arm = frs.with_payload(frs.load('two_link'), 'tool', 0.1)
    sim = frs.Simulation(arm)
    sim.hold([0.3, 0.4, -0.5], 40.0, 4.0)
    sim.push('tool', (0.0, 1.0, 0.0))
    batch = frs.Batch(arm, 3, threads=2)
    batch.effort[:, 1] = [0.1, 0.2, 0.3]
    for moving in (sim, batch):
        moving.step(25)
    context = multiprocessing.get_context(sys.argv[1])
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found, moved, many = pool.submit(frs.modes, arm), *(
            pool.submit(stepped, moving) for moving in (sim, batch))
        answers = [found.result().frequencies, moved.result().q,
                   many.result().q]
    own = [frs.modes(arm).frequencies, stepped(sim).q, stepped(batch).q]
    print(*(bool((a == b).all()) for a, b in zip(answers, own)))
"""


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize('start', ['fork', 'spawn', 'forkserver'])
def test_pools_of_processes_take_arms_and_return_what_has_moved(start, tmp_path):
    script = tmp_path / 'pool.py'
    script.write_text(POOL)
    done = subprocess.run(
        [sys.executable, script, start], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ('True True True\n', '')


def of_elements(count):
    """Return a beam of finite elements; more than a hundred of them have sparse shapes."""
    parts = f'<section EIy="60" EIz="90"/><elements count="{count}" bending_z="2" torsion="0"/>'
    return robot(joint(inside='<axis xyz="0 0 1"/>'), link(), flexibility(beam(parts)))


@pytest.mark.long(after=9)
@pytest.mark.slow
@pytest.mark.parametrize(
    'source',
    [
        'two_link',
        'rig',
        'ella',
        every_feature(),
        of_elements(120),
        *(random_robot(seed) for seed in range(4)),
    ],
)
@pytest.mark.parametrize(
    'way', [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]
)
def test_a_copy_of_an_arm_has_the_same_numbers_and_tables_of_its_own(source, way):
    arm = frs.load(source)
    other = way(arm)
    for name, one, two in zip(arm.arrays._fields, arm.arrays, other.arrays):
        np.testing.assert_array_equal(one, two, err_msg=name)
        assert two.flags.c_contiguous and not two.flags.writeable
        assert not np.shares_memory(one, two)
    q = np.linspace(-0.1, 0.1, arm.size)
    np.testing.assert_array_equal(frs.mass_matrix(arm, q), frs.mass_matrix(other, q))
    for body, shapes in arm.beams.items():
        x = np.linspace(0.0, shapes.length, 7)
        np.testing.assert_array_equal(shapes.shape(x), other.beams[body].shape(x))
        np.testing.assert_array_equal(shapes.shortening(x), other.beams[body].shortening(x))
    assert repr(other) == repr(arm)
    assert other.description.text == arm.description.text


@pytest.mark.parametrize(
    'make',
    [
        lambda arm: arm,
        lambda arm: arm.description,
        frs.Simulation,
        lambda arm: frs.Batch(arm, 2),
        lambda arm: frs.Batch(arm, 2).save_state(),
        lambda arm: frs.Simulation(arm).save_state(),
        lambda arm: frs.rollout(arm, duration=2e-3),
        lambda arm: arm.arrays,
    ],
    ids=[
        'arm',
        'description',
        'simulation',
        'batch',
        'state of a batch',
        'state',
        'log',
        'arrays',
    ],
)
@pytest.mark.parametrize('name, value', [('FORMAT', 0), ('__version__', '0.0.9')])
def test_a_pickle_of_another_version_is_refused_in_one_line(make, name, value, monkeypatch):
    thing = make(frs.load('single_link'))
    now = {'FORMAT': serialization.FORMAT, '__version__': frs.__version__}
    with monkeypatch.context() as patch:
        patch.setattr(version if name == '__version__' else serialization, name, value)
        data = pickle.dumps(thing)
    then = {**now, name: value}
    renamed = data  # by a version whose modules had other names
    for module in (b'core.model', b'description.robot', b'simulation', b'batch.batch'):
        renamed = renamed.replace(module, module[:-5] + b'other')
    for old in (data, renamed):
        with pytest.raises(SettingError) as caught:
            pickle.loads(old)
        assert str(caught.value) == (
            f'this pickle was written by flex_robot_sim {then["__version__"]} (format '
            f'{then["FORMAT"]}), and this is flex_robot_sim {now["__version__"]} (format '
            f'{now["FORMAT"]}): write it again with this version'
        )


def test_the_format_changes_with_the_names_in_the_states():
    arm = frs.load('single_link')
    batch = frs.Batch(arm, 1)
    names = [
        frs.Simulation(arm).__getstate__(),
        frs.Simulation(arm)._simulated.saved(),
        [f'{table}.{name}' for table in SAVED_FIELDS for name in SAVED_FIELDS[table]],
        batch.__getstate__(),
        BatchState._fields,
        batch.save_state().rows,
        SimulationState._fields,
        ArmArrays._fields,
    ]
    names.append(JointFriction._fields)
    for kind in (
        frs.ArmModel,
        frs.RobotDescription,
        Link,
        Joint,
        ElasticBeam,
        Imu,
        Encoder,
        DcMotor,
    ):
        names.append([item.name for item in fields(kind)])
    found = f'{zlib.crc32(repr([sorted(one) for one in names]).encode()):08x}'
    assert NAMES_OF_STATES[serialization.FORMAT] == found, (
        'states have other fields: raise FORMAT in serialization.py, and note its hash here'
    )
