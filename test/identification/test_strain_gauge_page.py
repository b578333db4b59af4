"""The example of `docs/strain_gauges.md`, against beams in closed form."""

import json
import re

import numpy as np
import pytest
from project_files import ROOT
from scipy.signal import lsim

import flex_robot_sim as frs
from flex_robot_sim.cli import main

PAGE = (ROOT / 'docs/strain_gauges.md').read_text('utf-8')
LENGTH, HEIGHT, THICKNESS, E = 0.5, 0.03, 0.002, 210e9  # [m], [m], [m], [Pa]
EI, DENSITY = E * HEIGHT * THICKNESS**3 / 12, 7850 * HEIGHT * THICKNESS  # [N m2], [kg/m]
DISTANCE, PLACE = THICKNESS / 2, 0.05  # of the gauge, from the neutral axis and the clamp [m]
RATIO = 0.01  # of the damping
ROOTS = 1.8751040687, 4.6940911330, 7.8547574382, 10.9955407349, 14.1371683910
MASS = DENSITY * LENGTH
INERTIA = MASS * LENGTH**2 / 12
ROBOT = f"""<robot name="bench"><link name="base"/>
<link name="strip"><inertial><origin xyz="{LENGTH / 2} 0 0"/><mass value="{MASS}"/>
<inertia ixx="1e-5" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="motor" type="revolute"><parent link="base"/><child link="strip"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="10" velocity="10"/></joint>
<link name="tip"/><joint name="mount" type="fixed"><parent link="strip"/><child link="tip"/>
<origin xyz="{LENGTH} 0 0"/></joint>
<flexibility><link name="strip" end="{LENGTH} 0 0">
<rectangle width="{THICKNESS}" height="{HEIGHT}"/>
<material E="FACTOR" G="80e9" density="7850"/><damping ratio="{RATIO}"/>
<modes bending_y="2" bending_z="0" torsion="0"/>
SENSOR</link></flexibility></robot>"""


def robot(modulus=E):
    """Return the URDF of the strip, with the gauge of the page."""
    (sensor,) = re.findall(r'<flex_sensor .+/>', PAGE)
    return ROBOT.replace('SENSOR', sensor).replace('FACTOR', str(modulus))


def test_the_numbers_of_the_page_are_those_of_a_cantilever():
    (formula,) = re.findall(r'EI = (.+) = 4\.2 N m2', PAGE)
    assert eval(formula) == pytest.approx(EI)
    moment = 1.0 * (LENGTH - PLACE)
    curvature = moment / EI
    said = re.search(
        r'The curvature is (\S+) / (\S+) = (\S+) 1/m, and the strain is \S+ \* (\S+) = (\S+),',
        PAGE,
    )
    expected = moment, EI, curvature, DISTANCE, curvature * DISTANCE
    assert [float(word) for word in said.groups()] == pytest.approx(expected, rel=3e-3)
    assert f'{1e6 * curvature * DISTANCE:.0f} microstrain per newton' in PAGE.replace('\n', ' ')


def test_a_force_at_the_tip_bends_the_gauge_as_on_the_page():
    arm = frs.load(robot())
    force = 1.0
    push = frs.Push('tip', force=(0.0, force, 0.0))
    state = frs.equilibrium(arm, [0.0], pushes=[push])
    curvature = frs.curvatures(arm, state.q)['strip/root']
    # two modes of a cantilever have no exact curvature at its root
    assert curvature == pytest.approx(force * (LENGTH - PLACE) / EI, rel=0.02)


def curvature_at_gauge(times, acceleration):
    """Return the curvature of a strip whose clamp turns, by its first modes in closed form."""
    total = np.zeros_like(times)
    for root in ROOTS:
        beta = root / LENGTH
        rate = beta**2 * np.sqrt(EI / DENSITY)
        sigma = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
        x = beta * PLACE
        shape = beta**2 * (np.cosh(x) + np.cos(x) - sigma * (np.sinh(x) + np.sin(x)))
        # integrals of x phi and of phi^2 over the strip: 2 / beta^2 and its length
        share = 2 / (beta**2 * LENGTH)
        system = [-share], [1.0, 2 * RATIO * rate, rate**2]
        total += shape * lsim(system, acceleration, times)[1]
    return total


@pytest.mark.long
def test_the_command_of_the_page_finds_EI_and_a_gain_of_one(tmp_path, monkeypatch, capsys):
    times = np.arange(0.0, 6.0, 1e-3)
    t = np.maximum(times - 0.2, 0.0)
    rates = 2 * np.pi * np.array([[0.7], [2.1], [5.3]])
    angle = (1 - np.exp(-(t**3) / 0.02)) * (np.array([0.1, 0.03, 0.01]) @ np.sin(rates * t))
    acceleration = np.gradient(np.gradient(angle, times), times)
    curvature = curvature_at_gauge(times, acceleration)
    # on the side of -y, a positive curvature stretches the gauge
    noise = np.random.default_rng(0).normal(0.0, 1.0, times.size)
    bridge = 1e6 * DISTANCE * curvature + noise
    table = np.column_stack([times, angle, bridge])[::4]
    monkeypatch.chdir(tmp_path)
    np.savetxt('run.csv', table, delimiter=',', header='time,position/motor,bridge', comments='')
    (tmp_path / 'arm.urdf').write_text(robot(0.9 * E))
    (command,) = re.findall(r'^flexsim (identify run\.csv .+)$', PAGE, re.MULTILINE)
    assert main([*command.split(), '--json']) == 0
    estimates = json.loads(capsys.readouterr().out)['estimates']
    # the rates of the measured motion, which drives the model, are smoothed
    assert estimates['strip.stiffness']['value'] == pytest.approx(1 / 0.9, rel=2e-3)
    assert estimates['strip/root.gain']['value'] == pytest.approx(1.0, rel=5e-3)
