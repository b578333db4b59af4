"""Queries of a batch are those of single simulations, for all members at once."""

import numpy as np
import pytest
from random_arms import every_feature, random_robot, random_state
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.model.arm_model import with_stiffness

pytestmark = pytest.mark.slow

COUNT = 4
SOURCES = [
    'two_link',
    'rig',
    'ella',
    every_feature(damping=True),
    *(random_robot(seed, damping=True) for seed in range(4)),
]


def moving_pair(source, seed, are_equal=False):
    """Return a Batch of arms that move differently, and their Simulations."""
    arm, rng = frs.load(source), np.random.default_rng(seed)
    carried = [name for name, frame in arm.frames.items() if frame.body >= 0]
    arms = (
        COUNT * [arm] if are_equal else [with_stiffness(arm, 1.0 + 0.2 * k) for k in range(COUNT)]
    )
    batch, sims = frs.Batch(arms, threads=2), [frs.Simulation(one) for one in arms]
    for k, sim in enumerate(sims):
        q, v = random_state(arm, seed + k, turn=0.3)
        force, mass = rng.normal(size=3), rng.uniform(0.0, 0.2)
        effort = rng.normal(size=len(arm.joint_names))
        for moving, members in ((sim, {}), (batch, {'members': [k]})):
            moving.set_state(q, v, **members)
            moving.push(carried[0], force, **members)
            moving.set_payload(carried[-1], mass, **members)
            moving.hold(0.1 * effort, 5.0, 0.5, **members)
        sim.effort = batch.effort[k] = effort
        sim.step(4)
    batch.step(4)
    return batch, sims


@pytest.mark.long(after=6)
@pytest.mark.parametrize('are_equal', [True, False])
@pytest.mark.parametrize('number, source', [*enumerate(SOURCES)])
def test_queries_of_moving_arms_are_those_of_simulations(source, number, are_equal):
    batch, sims = moving_pair(source, number, are_equal)
    arm = batch.arm
    for _ in range(2):
        found: dict = {(link, 'deflection'): v for link, v in batch.deflection.items()}
        found.update({(name, 'curvature'): values for name, values in batch.curvature.items()})
        found['effort'] = batch.applied_effort
        found['mean'] = batch.mean_effort
        expected = [
            {
                **{(link, 'deflection'): values for link, values in sim.deflection.items()},
                **{(name, 'curvature'): values for name, values in sim.curvature.items()},
                'effort': sim.applied_effort,
                'mean': sim.mean_effort,
            }
            for sim in sims
        ]
        for joint in arm.carried_bodies:
            found[joint, 'wrench'] = batch.wrench(joint)
            for sim, one in zip(sims, expected):
                one[joint, 'wrench'] = sim.wrench(joint)
        stations = [(link, None) for link in arm.frames] + [
            (link, station) for link in arm.tips for station in ('tip', 0.3 * arm.length(link))
        ]
        for link, station in stations:
            found[link, station] = batch.pose(link, station=station)
            for sim, one in zip(sims, expected):
                one[link, station] = sim.pose(link, station=station)
            for kind in ('body', 'spatial', 'hybrid', 'mixed'):
                found[link, station, kind] = batch.twist(
                    link, representation=kind, station=station
                )
                for sim, one in zip(sims, expected):
                    one[link, station, kind] = sim.twist(
                        link, representation=kind, station=station
                    )
        for name, values in found.items():
            assert len(values) == COUNT
            for value, one in zip(values, expected):
                scale = max(1.0, np.abs(one[name]).max())
                np.testing.assert_allclose(
                    value, one[name], rtol=0, atol=1e-12 * scale, err_msg=str(name)
                )
        # the queries leave no trace in the next steps
        batch.step(3)
        for sim, q in zip(sims, batch.q):
            sim.step(3)
            np.testing.assert_array_equal(q, sim.q)


def test_the_tool_is_the_default_link():
    batch, _ = moving_pair('two_link', 1)
    np.testing.assert_array_equal(batch.pose(), batch.pose('tool'))
    np.testing.assert_array_equal(batch.twist(), batch.twist('tool'))


def test_queries_follow_arms_and_live_numbers_that_change():
    batch, sims = moving_pair('two_link', 2)
    batch.wrench('elbow'), batch.pose('forearm', station=0.1), batch.curvature, batch.deflection
    batch.gear_stiffness[1] *= 0.5
    batch.set_arms(with_stiffness(batch.arm, 3.0), members=[2])
    alone = frs.Batch([*batch.arms], threads=1)
    alone.restore_state(batch.save_state())
    for ask in (
        lambda one: one.wrench('elbow'),
        lambda one: one.pose('forearm', station=0.1),
        lambda one: one.deflection['forearm'],
        lambda one: one.applied_effort,
    ):
        np.testing.assert_array_equal(ask(batch), ask(alone))
    assert (batch.wrench('elbow')[1] != sims[1].wrench('elbow')).any()


@pytest.mark.parametrize(
    'ask, line',
    [
        (lambda batch: batch.pose('hand'), 'no link "hand". Known: base, hub, arm'),
        (lambda batch: batch.wrench('hand'), 'no joint "hand" carries a body. Known: motor'),
        (
            lambda batch: batch.twist('arm', representation='own'),
            "representation = 'own' must be one of body, spatial, hybrid, mixed",
        ),
        (
            lambda batch: batch.pose('base', station='tip'),
            'link "base" is rigid and has no stations',
        ),
    ],
)
def test_a_wrong_name_is_one_line(ask, line):
    assert refusal(frs.SettingError, ask, frs.Batch(frs.load('single_link'), 2)).startswith(line)
