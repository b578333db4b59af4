"""Logs: each sample is what the simulation returned, as arrays, tables and figures."""

import copy
import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs

NAMES = (
    'q',
    'v',
    'position',
    'velocity',
    'motor_position',
    'motor_velocity',
    'effort',
    'applied_effort',
    'mean_effort',
)


def swinging(count=None):
    """Return a Simulation or a Batch that has begun to move by a servo."""
    arm = frs.load('two_link')
    moving = frs.Simulation(arm) if count is None else frs.Batch(arm, count)
    moving.hold([0.3, 0.4, -0.5], 40.0, 4.0)
    moving.step(5)
    return moving


def test_each_sample_is_what_the_simulation_returns():
    sim, rows = swinging(), []

    def tip(sim):
        rows.append(
            (
                [getattr(sim, name).copy() for name in NAMES],
                {**sim.deflection},
                sim.curvature,
                sim.energy(),
                sim.pose('forearm'),
                sim.twist('tool'),
                sim.wrench('elbow'),
                sim.time,
            )
        )
        return sim.pose('tool')[:3, 3]

    log = frs.rollout(
        sim,
        duration=0.02,
        record=(
            *NAMES,
            'deflection',
            'curvature',
            'energy',
            'pose:forearm',
            'twist:tool',
            'wrench:elbow',
            tip,
        ),
    )
    assert len(rows) == len(log.time) == 21 and [*log][-1] == 'tip'
    for k, (arrays, deflection, curvature, energy, pose, twist, wrench, time) in enumerate(rows):
        for name, array in zip(NAMES, arrays):
            np.testing.assert_array_equal(log[name][k], array)
        for link, values in deflection.items():
            np.testing.assert_array_equal(log.deflection[link][k], values)
        for sensor, value in curvature.items():
            assert log.curvature[sensor][k] == value
        assert [column[k] for column in log.energy] == [*energy]
        assert log.energy.strain[k] == energy.strain
        for name, value in (
            ('pose:forearm', pose),
            ('twist:tool', twist),
            ('wrench:elbow', wrench),
        ):
            np.testing.assert_array_equal(log[name][k], value)
        assert log.time[k] == time


def test_columns_have_the_names_of_linear_models():
    arm = frs.load('two_link')
    log = frs.rollout(
        arm,
        duration=5e-3,
        record=(
            'q',
            'v',
            'position',
            'velocity',
            'motor_position',
            'motor_velocity',
            'deflection',
            'curvature',
            'effort',
        ),
    )
    columns, model = log.columns(), frs.linearise(arm)
    assert {name for name in model.outputs if not name.endswith('/rate')} <= columns.keys()
    assert {*model.states, *model.inputs} <= columns.keys()
    np.testing.assert_array_equal(columns['elbow/q'], log.q[:, 2])
    np.testing.assert_array_equal(columns['forearm/tip_turn_z'], log.deflection['forearm'][:, 5])
    assert all(column.shape == (6,) for column in columns.values())


def test_a_log_is_pickled_and_copied_without_its_functions():
    log = frs.rollout(swinging(), duration=5e-3, record={'tip': lambda sim: sim.position})
    for other in (pickle.loads(pickle.dumps(log)), copy.copy(log), copy.deepcopy(log)):
        np.testing.assert_array_equal(other.tip, log.tip)
        np.testing.assert_array_equal(other.time, log.time)
        assert repr(other) == repr(log)


@pytest.mark.slow
def test_a_log_names_what_it_has():
    log = frs.rollout(swinging(), duration=5e-3, record=('q', 'pose:tool'))
    line = 'the log has no "v". Recorded: q, pose:tool'
    for ask, error in (
        (lambda: log['v'], KeyError),
        (lambda: log.v, AttributeError),
        (lambda: log.plot('v'), frs.SettingError),
    ):
        with pytest.raises(error) as caught:
            ask()
        assert caught.value.args[0] == line
    assert 'v' not in log and log.get('v') is None and len(log) == 2


def test_a_quantity_keeps_its_shape():
    shapes = iter(range(1, 99))
    log = frs.rollout(swinging(), duration=5e-3, record={'x': lambda sim: np.ones(next(shapes))})
    assert refusal(frs.SettingError, lambda: log['x']) == (
        'the samples of "x" have different shapes: a quantity must keep its shape'
    )


@pytest.mark.slow
def test_a_plot_has_a_panel_for_each_quantity_and_a_curve_for_each_column(tmp_path):
    log = frs.rollout(swinging(), duration=0.01, record=('position', 'deflection', 'pose:tool'))
    figure: Any = log.plot(path=tmp_path / 'log.png')
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ['position [rad, m]', 'deflection [m, rad]', 'pose:tool [m]']
    assert [len(axes.lines) for axes in figure.axes] == [3, 12, 3]
    np.testing.assert_array_equal(figure.axes[2].lines[1].get_ydata(), log['pose:tool'][:, 1, 3])
    png = (tmp_path / 'log.png').read_bytes()
    assert png[1:4] == b'PNG' and figure._repr_png_()[1:4] == b'PNG'
    assert len(log.plot('position').axes) == 1


def test_a_batch_has_the_member_as_second_axis():
    log = frs.rollout(
        swinging(3), duration=0.01, record=('q', 'deflection', 'energy', 'pose:tool')
    )
    arm = log.arm
    assert log.q.shape == (11, 3, arm.nq) and log['pose:tool'].shape == (11, 3, 4, 4)
    assert log.deflection['forearm'].shape == (11, 3, 6) and log.energy.work.shape == (11, 3)
    np.testing.assert_array_equal(
        log.member(2).deflection['forearm'], log.deflection['forearm'][:, 2]
    )
    assert len(log.member(2).plot('q').axes) == 1
    for ask, line in (
        (
            log.plot,
            'the log of a Batch has no plot: draw the log of one member, log.member(0).plot()',
        ),
        (lambda: log.member(3), 'member = 3 must be a row of the log of a Batch of 3'),
        (lambda: log.member(0).member(0), 'member = 0 must be a row of the log of a Batch'),
    ):
        assert refusal(frs.SettingError, ask) == line


@pytest.mark.slow
@pytest.mark.parametrize('count', [None, 2])
def test_a_table_has_a_row_for_each_sample_and_member(count):
    pytest.importorskip('pandas')
    log = frs.rollout(swinging(count), duration=0.01, record=('position', 'energy'))
    table = log.to_pandas()
    assert [*table] == [*log.columns()] and len(table) == 11 * (count or 1)
    assert [*table.index.names] == (['time'] if count is None else ['time', 'member'])
    row = log.time[4] if count is None else (log.time[4], 1)
    assert table['elbow/position'][row] == log.position[(4, 2) if count is None else (4, 1, 2)]


def test_without_pandas_one_line_says_how_to_install_it(monkeypatch):
    log, find = frs.rollout(swinging(), duration=5e-3), importlib.util.find_spec
    monkeypatch.setattr(
        'flex_robot_sim.util.table_files.find_spec',
        lambda name: None if name == 'pandas' else find(name),
    )
    assert refusal(frs.FlexRobotSimError, log.to_pandas) == (
        'to_pandas needs the package pandas. Install it by `pip install pandas`.'
    )


@pytest.mark.parametrize('make', [swinging, lambda: swinging(2)])
def test_a_recording_samples_while_the_caller_steps(make):
    moving, other = make(), make()
    log, fine = moving.record('q', 'deflection', period=4e-3), moving.record('effort')
    moving.step(3)
    moving.effort = 0.2 + 0.0 * moving.effort
    moving.step()
    moving.advance_to(moving.time + 6e-3)
    times, rows = [other.time], [other.q]
    for steps in (3, 1, 4):
        other.step(steps)
        if steps == 3:
            other.effort = 0.2 + 0.0 * other.effort
        else:
            times.append(other.time)
            rows.append(other.q)
    np.testing.assert_allclose(log.time, times, rtol=0, atol=1e-12)
    np.testing.assert_allclose(log.q, rows, rtol=0, atol=1e-12)
    assert len(fine.time) == 11 and not fine.effort[:3].any() and fine.effort[4:].all()
    log.stop()
    moving.step(8)
    assert len(log.time) == 3 and len(fine.time) == 19


def test_a_recording_changes_no_bit_of_the_motion():
    sim, other = swinging(), swinging()
    sim.record('wrench:elbow', 'energy', 'applied_effort', 'deflection')
    for moving in (sim, other):
        for _ in range(40):
            moving.step()
    np.testing.assert_array_equal(sim.q, other.q)
    assert sim.energy() == other.energy()


@pytest.mark.parametrize('count', [None, 2])
def test_copies_record_nothing_and_restored_states_are_recorded(count):
    sim = swinging(count)
    log = sim.record('q')
    for other in (copy.copy(sim), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
        other.step(5)
    assert len(log.time) == 1
    state = sim.save_state()
    sim.step(2)
    sim.restore_state(state)
    sim.step(1)
    assert len(log.time) == 4 and log.time[-1] == log.time[1]


def test_a_recording_ends_with_the_last_good_state():
    sim = swinging()
    log = sim.record('q')
    sim.effort[:] = 1e200
    with pytest.raises(frs.SimulationError):
        sim.step(50)
    assert np.isfinite(log.q).all()
    sim.effort[:] = 0.0
    count = len(log.time)
    sim.step(3)
    assert len(log.time) == count + 3


@pytest.mark.parametrize(
    'arguments, line',
    [
        ({'period': 1.5e-3}, 'period = 0.0015 must be a whole number of time steps of 0.001 s'),
        ({'period': 0}, 'period = 0 must be a whole number of time steps of 0.001 s'),
        ({'period': 'x'}, "period = 'x' must be a whole number of time steps of 0.001 s"),
    ],
)
def test_a_period_of_a_recording_is_whole_time_steps(arguments, line):
    assert refusal(frs.SettingError, lambda: swinging().record('q', **arguments)) == line
