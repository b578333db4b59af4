"""Sliding links outside their guides: one line on entry, and one that ends a simulation."""

import numpy as np
import pytest
from sliding_arms import sliding_arm, telescope

import flex_robot_sim as frs
from flex_robot_sim.cli import main

# a boom of 1.5 m with the mouth at 1.2 m: its free length is 0.3 m at zero; the guide holds it
# from 0.01 to 1.05 of its length
LINE = 'it is inside from -0.285 to 1.275 m'


def boom(**options):
    return frs.load(sliding_arm(**options))


def full(arm, out):
    """All coordinates with the boom at `out` [m]."""
    return np.where(np.arange(arm.size) == 1, out, 0.0)


JOINT_FUNCTIONS = {
    'modes': lambda arm, q: frs.modes(arm, q),
    'linearise': lambda arm, q: frs.linearise(arm, q),
    'equilibrium': lambda arm, q: frs.equilibrium(arm, q),
    'static_jacobian': lambda arm, q: frs.static_jacobian(arm, q),
    'set_state': lambda arm, q: frs.Simulation(arm).set_state(q),
    'Batch.set_state': lambda arm, q: frs.Batch(arm, 2).set_state(q),
    'inverse_kinematics': lambda arm, q: frs.inverse_kinematics(
        arm, frs.pose(arm, np.zeros(arm.nq)), q=q
    ),
}
FUNCTIONS = {
    'set_state, all': lambda arm, q: frs.Simulation(arm).set_state(q),
    'linearise, all': lambda arm, q: frs.linearise(arm, q),
    'mass_matrix': lambda arm, q: frs.mass_matrix(arm, q),
    'nonlinear_effects': lambda arm, q: frs.nonlinear_effects(arm, q),
    'inverse_dynamics': lambda arm, q: frs.inverse_dynamics(arm, q),
    'forward_dynamics': lambda arm, q: frs.forward_dynamics(arm, q),
    'derivatives': lambda arm, q: frs.derivatives(arm, q),
    'deflection': lambda arm, q: frs.deflection(arm, [q, 0 * q]),
    'pose': lambda arm, q: frs.pose(arm, q),
    'jacobian': lambda arm, q: frs.jacobian(arm, q),
    'twist': lambda arm, q: frs.twist(arm, q, 0 * q),
    'twist_rate': lambda arm, q: frs.twist_rate(arm, q, 0 * q, 0 * q),
}


@pytest.mark.parametrize('out', [-0.5, -0.3, -0.286, 1.276])
@pytest.mark.parametrize('name', [*JOINT_FUNCTIONS, *FUNCTIONS])
def test_a_position_outside_the_guide_is_refused_in_one_line(name, out):
    arm = boom()
    with pytest.raises(frs.SettingError) as caught:
        if name in FUNCTIONS:
            FUNCTIONS[name](arm, full(arm, out))
        else:
            JOINT_FUNCTIONS[name](arm, [0.0, out])
    assert str(caught.value) == (
        f'q: link "boom" is outside its guide with joint "out" at {out:g} m: {LINE}'
    )


@pytest.mark.parametrize('out', [-0.284, 1.274])
def test_the_whole_range_of_the_guide_is_accepted(out):
    arm = boom()
    assert np.isfinite(frs.modes(arm, [0.0, out]).frequencies).all()
    assert np.isfinite(frs.forward_dynamics(arm, full(arm, out))).all()


def test_rates_may_have_any_value():
    arm = boom()
    frs.Simulation(arm).set_state(full(arm, 0.2), full(arm, -5.0))
    frs.Batch(arm, 1).set_state([0.0, 0.2], [0.0, -5.0])
    assert frs.curvatures(arm, full(arm, -5.0)) == {}


def test_the_second_stage_of_a_telescope_is_named():
    arm = frs.load(telescope())
    message = 'link "tip_boom" is outside its guide with joint "further" at -0.3 m: it is inside'
    with pytest.raises(frs.SettingError, match=message):
        frs.modes(arm, [-0.3 if name == 'further' else 0.0 for name in arm.joint_names])


def test_the_command_line_refuses_a_pose_outside_the_guide(tmp_path, capsys):
    path = tmp_path / 'boom.urdf'
    path.write_text(sliding_arm())
    assert main(['modes', str(path), '--pose', '0,-0.4']) == 2
    assert capsys.readouterr().err == (
        'flexsim modes: --pose: link "boom" is outside its guide with joint "out" at -0.4 m: '
        f'{LINE}\n'
    )


SCHEMES = {'implicit_midpoint': 1e-3, 'reference': 1e-3, 'rk4': 1e-5, 'semi_implicit_euler': 1e-5}


@pytest.mark.parametrize('speed', [-400.0, 1500.0])
@pytest.mark.parametrize('scheme', SCHEMES)
def test_a_link_that_is_driven_out_of_its_guide_ends_the_simulation(scheme, speed):
    arm = boom()
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=SCHEMES[scheme], scheme=scheme))
    sim.set_state([0.0, 0.0 if speed < 0 else 1.0], [0.0, speed])
    with pytest.raises(frs.SimulationError) as caught:
        sim.step(5000)
    line = str(caught.value)
    assert ' s, link "boom" is outside its guide with joint "out" at ' in line and LINE in line
    assert line.endswith('; the last good state is kept. Keep the joint within its limits')
    assert np.isfinite(sim.q).all() and -0.285 <= sim.q[1] <= 1.275


@pytest.mark.parametrize(
    'motion', [lambda t: (-2.0 * t, -2.0), lambda t: (5.0 * t, 5.0), lambda t: (-2.0, 0.0)]
)
def test_a_prescribed_motion_out_of_the_guide_ends_in_the_same_line(motion):
    sim = frs.Simulation(boom())
    sim.prescribe('out', motion)
    with pytest.raises(frs.SimulationError, match='link "boom" is outside its guide'):
        sim.step(500)


def test_only_the_member_that_leaves_its_guide_stops():
    batch = frs.Batch(boom(), 3)
    batch.effort[:, 1] = [0.0, -1e5, 0.0]
    batch.step(100)
    assert batch.is_lost.tolist() == [False, True, False]
    assert batch.reports[0][0] == 1
    assert 'link "boom" is outside its guide with joint "out" at ' in batch.reports[0][1]


def test_a_stop_at_the_end_of_the_guide_holds_the_link():
    sim = frs.Simulation(boom(limit='lower="-0.1" upper="1.2"'))
    sim.effort[1] = 300.0
    sim.step(1000)
    assert 1.2 < sim.q[1] < 1.275  # beyond the whole length, by the depth of the stop
