"""Fits of a closed loop to a log of MuJoCo, which closes it by an equality constraint."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.identification import identify_parameters, make_log
from flex_robot_sim.identification.experiment_files import trajectory_text
from flex_robot_sim.identification.log_simulation import channels_of, move
from flex_robot_sim.identification.prediction import Setup, soft_servo
from flex_robot_sim.identification.sequences import make_data_set

mujoco = pytest.importorskip('mujoco')

PERIOD, STEP, SECONDS = 4e-3, 1e-4, 5.0  # of the log, of MuJoCo, and of the motion [s]
SPRING, REST, VISCOUS, MASS = 1.5, -0.2, 0.03, 0.35  # of the rocker, and friction of the crank
HIDDEN = f"""
<mujoco>
  <compiler angle="radian"/>
  <option timestep="{STEP}" gravity="0 0 -9.81" integrator="implicitfast"/>
  <worldbody>
    <body name="crank">
      <joint name="crank_joint" axis="0 -1 0" damping="{VISCOUS}"/>
      <inertial mass="0.108" pos="0.1 0 0" diaginertia="4.5e-6 3.609e-4 3.636e-4"/>
      <body name="coupler" pos="0.2 0 0">
        <joint name="coupler_joint" axis="0 -1 0"/>
        <inertial mass="0.3" pos="0.15 0 0.2" diaginertia="1e-3 6e-3 6e-3"/>
      </body>
    </body>
    <body name="rocker" pos="0.5 0 0">
      <joint name="rocker_joint" axis="0 -1 0" stiffness="{SPRING}" springref="{REST}"/>
      <inertial mass="{MASS}" pos="0 0 0.2" diaginertia="2.9e-3 2.9e-3 1e-5"/>
    </body>
  </worldbody>
  <equality>
    <connect body1="coupler" body2="rocker" anchor="0.3 0 0.4"
             solref="{4 * STEP} 1" solimp="0.9999 0.9999 0.001"/>
  </equality>
  <actuator><motor joint="crank_joint"/></actuator>
</mujoco>
"""


def described(spring=1.0, viscous=0.01, mass=0.2):
    """Return the mechanism with guesses of what is hidden."""
    builder = frs.ArmBuilder('four_bar')
    builder.add_rigid(
        'crank', mass=0.108, centre=(0.1, 0, 0), inertia=(4.5e-6, 3.609e-4, 3.636e-4)
    )
    builder.add_rigid('coupler', mass=0.3, centre=(0.15, 0, 0.2), inertia=(1e-3, 6e-3, 6e-3))
    inertia = np.array([2.9e-3, 2.9e-3, 1e-5]) * mass / MASS  # a fit scales both
    builder.add_rigid('rocker', mass=mass, centre=(0, 0, 0.2), inertia=inertia)
    builder.add_joint(
        'crank_joint', parent='base', child='crank', axis='-y', viscous_friction=viscous
    )
    builder.add_joint(
        'coupler_joint', parent='crank', child='coupler', axis='-y', xyz=(0.2, 0, 0), effort=0
    )
    builder.add_joint(
        'rocker_joint', parent='base', child='rocker', axis='-y', xyz=(0.5, 0, 0), effort=0,
        spring_stiffness=spring, spring_reference=REST,
    )  # fmt: skip
    places = {'parent_xyz': (0, 0, 0.4), 'child_xyz': (0.3, 0, 0.4)}
    builder.add_constraint('end', type='spherical', parent='rocker', child='coupler', **places)
    return builder.build()


@pytest.fixture(scope='module')
def log():
    model = mujoco.MjModel.from_xml_string(HIDDEN)
    data, every = mujoco.MjData(model), round(PERIOD / STEP)
    rows = []
    for k in range(round(SECONDS / STEP)):
        t = k * STEP
        grown = 1 - np.exp(-(t**3))
        target = grown * (0.6 * np.sin(4 * t) + 0.2 * np.sin(13 * t))
        data.ctrl[0] = 20.0 * (target - data.qpos[0]) - 1.0 * data.qvel[0]
        if k % every == 0:
            rows.append([t, data.qpos[0], data.qpos[2], data.ctrl[0]])
        mujoco.mj_step(model, data)
    times, crank, rocker, effort = np.array(rows).T
    return make_log(
        times,
        {
            'position/crank_joint': crank,
            'position/rocker_joint': rocker,
            'effort/crank_joint': effort,
        },
    )


def test_an_experiment_moves_the_motors_of_a_loop_only():
    design = frs.identification.design_experiment(
        described(), duration=2.0, period=0.01, kind='sweep', pose=[0.1], free=['rocker.mass']
    )
    positions = design.experiment.trajectory.position
    assert np.ptp(positions[:, 0]) > 0.1 and not np.ptp(positions[:, 1:], axis=0).any()
    signals = {'position/crank_joint', 'effort/crank_joint'}
    assert {*design.experiment.log.columns} == signals
    assert trajectory_text(described(), design.experiment.trajectory).startswith(
        'joint_names: [crank_joint]\n'
    )


def test_prescribed_drives_of_a_flexible_loop_do_not_bend_it():
    def smooth(t):  # a jump of the acceleration would excite modes that depend on the step
        lift = 1 - np.cos(8 * t)
        return 0.15 * lift**2, 2.4 * lift * np.sin(8 * t)

    arm = frs.load('four_bar')
    sim = frs.Simulation(arm)
    sim.set_state(frs.equilibrium(arm).q)
    sim.prescribe('crank_joint', smooth)
    rows = []
    for _ in range(300):
        rows.append([sim.time, sim.position[0], sim.deflection['coupler'][2]])
        sim.step(4)
    times, crank, tip = np.array(rows).T
    log = make_log(times, {'position/crank_joint': crank, 'tip/coupler/z': tip})
    data = make_data_set([log], arm, True)
    for step in (2e-3, 5e-4):
        setup = Setup(arm.description, data, time_step=step, finer=0)
        sequence = data.sequences[0]
        motion = move(setup, soft_servo(setup), arm, sequence)
        error = channels_of(setup, arm, sequence, motion)[:, 0] - tip
        assert np.sqrt(np.mean(error**2)) < 0.01 * tip.std()


@pytest.mark.parametrize('has_rocker', [True, False])
def test_hidden_parameters_of_a_four_bar_are_found(log, has_rocker):
    if not has_rocker:
        log = log._replace(
            columns={name: one for name, one in log.columns.items() if 'rocker' not in name}
        )
    free = ['rocker_joint.spring_stiffness', 'crank_joint.viscous', 'rocker.mass']
    found = identify_parameters(described(), log, free=free)
    for path, value in zip(free, (SPRING, VISCOUS, MASS)):
        assert found.values[path] == pytest.approx(value, rel=2e-3), path
