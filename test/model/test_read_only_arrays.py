"""Arrays of an arm are read-only for users, and plain arrays for compiled code."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.model import assembly, damping
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.util.read_only import make_read_only, read_only

WAYS = {
    'loaded': lambda arm: arm,
    'copied': copy.copy,
    'deep-copied': copy.deepcopy,
    'pickled': lambda arm: pickle.loads(pickle.dumps(arm)),
    'with payload': lambda arm: frs.with_payload(arm, 'tool', 0.1),
    'with parameters': lambda arm: frs.with_parameters(arm, {'forearm.EIz': ('*', 1.1)}),
    'of a simulation': lambda arm: frs.Simulation(arm).arm,
}


def arrays_below(value):
    """Yield all arrays in an object, whatever it consists of."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from arrays_below(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_below(item)
    elif hasattr(value, '__dict__'):
        yield from arrays_below(vars(value))


@pytest.mark.parametrize('way', WAYS.values(), ids=WAYS)
def test_no_array_of_an_arm_and_its_description_can_be_written(way):
    arm = way(frs.load('two_link'))
    arrays = [
        *arrays_below(
            [
                arm.arrays,
                arm.frames,
                arm.carried_bodies,
                arm.payloads,
                arm.description.links,
                arm.description.joints,
            ]
        )
    ]
    assert len(arrays) > 80
    for array in arrays:
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 1


def test_the_beams_that_arms_share_cannot_be_written():
    arm = frs.load('two_link')
    for beam in arm.beams.values():
        shapes = [array for one in beam.shapes.values() for array in (one.mix, one.breaks)]
        for array in (
            beam.stiffness,
            beam.stations,
            beam.weights,
            beam.section.inertia,
            *shapes,
            beam.Phi,
            beam.Theta,
            beam.modal_mass,
            beam.rotary,
            *beam.at_end,
        ):
            with pytest.raises(ValueError, match='read-only'):
                array[0] = 1.0


def test_compiled_code_takes_read_only_and_writable_arrays_as_one_type():
    arrays: Any = frs.load('two_link').arrays
    writable: Any = ArmArrays(*(array.copy() for array in arrays))
    assert all(array.flags.writeable for array in writable)
    assert arrays._numba_type_ is writable._numba_type_
    assert arrays.read_only() is arrays
    same = writable.read_only()
    assert same._list.tolist() == writable._list.tolist()  # pointers and shapes


def test_live_arrays_of_a_batch_stay_writable():
    arm = frs.load('two_link')
    batch = frs.Batch(arm, 2)
    batch.gear_stiffness[0] *= 2.0
    batch.viscous[1] = 0.5
    batch.step(2)
    assert (batch.gear_stiffness[1] == arm.arrays.gear_stiffness).all()


def test_an_array_of_a_caller_stays_writable():
    array = np.zeros(3)
    view = read_only(array)
    array[0] = 1.0
    assert view[0] == 1.0 and not view.flags.writeable and read_only(view) is view


def test_arrays_are_found_in_all_that_a_value_contains():
    arrays = [np.zeros(2) for _ in range(3)]
    make_read_only({'a': arrays[0], 'b': (arrays[1], [arrays[2], 'text', None, 1.0])})
    assert not any(array.flags.writeable for array in arrays)


def test_every_field_is_an_array_of_its_dimensions_while_an_arm_is_assembled(monkeypatch):
    tables = []

    def elastic_inertia(arrays):
        tables.append(arrays)
        return damping.elastic_inertia(arrays)

    monkeypatch.setattr(assembly, 'elastic_inertia', elastic_inertia)
    arm = assembly.build_arm(frs.read_description('two_link'))
    (partial,) = tables
    for name, array in partial._asdict().items():
        assert isinstance(array, np.ndarray), name
        assert array.ndim == getattr(arm.arrays, name).ndim, name
