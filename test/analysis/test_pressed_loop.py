"""A force loop in contact: the sampled linear model predicts how a vibration grows or decays."""

import numpy as np
import pytest
from project_files import ROOT
from scipy.signal import cont2discrete

import flex_robot_sim as frs

PUSH = 1e-5  # of the shoulder rate [rad/s]
START = np.array([0.3, -1.3, 1.9, -2.1, -1.4, 0.2])  # [rad]
UP = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])  # twist of the tool
BALL = """<link name="ball"><inertial><mass value="0.3"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"
ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.02"/></geometry>
</collision></link><joint name="grip" type="fixed"><parent link="tool0"/><child link="ball"/>
<origin xyz="0 0 0.05"/></joint>"""


def press(stiffness, random):
    """Return a UR5e with gears that twist, 1 mm above the ground."""
    text = (ROOT / 'test/data/robots/ur5e.urdf').read_text('utf-8')
    text = text.replace('</robot>', BALL + '</robot>')
    height = frs.pose(frs.load(text), START, link='ball')[2, 3] - 0.021
    gears = ''.join(
        f'<joint name="{name}" stiffness="{10 ** random.uniform(3.8, 4.5)}" damping="4" '
        f'rotor_inertia="{10 ** random.uniform(-4.3, -3.7)}" gear_ratio="100"/>'
        for name in frs.load(text).joint_names
    )
    contact = f'<contact name="tool" link="ball" stiffness="{stiffness}" damping="0"/>'
    words = f'<flexibility>{gears}{contact}<ground height="{height}"/></flexibility>'
    return frs.load(text.replace('</robot>', f'{words}</robot>'))


def jacobian(arm, q):
    """Jacobian (6, nv) of the ball, in the axes of the base."""
    return frs.jacobian(arm, q, link='ball', representation='hybrid')


class Loop:
    """An admittance law z' = (F - F0) / b, sampled at each step of a simulation."""

    def __init__(self, arm, period, gains):
        self.sim = frs.Simulation(arm, frs.SimulationSettings(time_step=period))
        self.target, self.gains, self.period = START.copy(), gains, period
        self.force, self.measured = 10.0, 0.0  # [N]
        self.sim.set_state(self.target)

    def run(self, b, duration):
        """Return the forces [N] of steps with a damping b [N s/m]."""
        force = []
        for _ in range(round(duration / self.period)):
            rates = UP * (self.measured - self.force) / b
            J = jacobian(self.sim.arm, self.sim.q)[:, :6]
            self.target += self.period * np.linalg.solve(J, rates)
            self.sim.hold(self.target, stiffness=self.gains[0], damping=self.gains[1])
            self.sim.step()
            self.measured = self.sim.contact('tool').force[2]
            force.append(self.measured)
        return np.array(force)


def sampled(arm, q, period, gains, stiffness):
    """Return a function from b to the rate [1/s] of the vibration that decays the slowest."""
    model = frs.linearise(arm, q, gains=gains)
    J = jacobian(arm, q)
    by_target = model.B[:, 6:] @ np.linalg.solve(J[:, :6], UP)
    force = np.concatenate([-stiffness * J[5], np.zeros(arm.nv)])
    # 'bilinear': the midpoint rule, as the steps
    words = model.A, by_target[:, None], force[None], 0.0
    A, B, *_ = cont2discrete(words, period, 'bilinear')

    def rate(b):
        # of states, target, and mean force of the last step
        after = np.hstack([A, B, B * period / b])
        mean = 0.5 * (force @ after + np.concatenate([force, [0.0, 0.0]]))
        target = np.concatenate([0.0 * force, [1.0, period / b]])
        rates = np.log(np.linalg.eigvals(np.vstack([after, target, mean])) + 0j) / period
        return rates[np.abs(rates.imag) > 1.0].real.max()

    return rate


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(8))
def test_a_vibration_grows_or_decays_as_the_sampled_model_predicts(seed):
    draw = np.random.default_rng(seed)
    stiffness, period = 10 ** draw.uniform(4.7, 5.5), draw.choice([1e-3, 5e-4, 2e-4])
    gains = 10 ** draw.uniform(4.1, 4.6), 10 ** draw.uniform(2.1, 2.4)
    arm = press(stiffness, draw)
    loop = Loop(arm, period, gains)
    loop.run(5000.0, 2.0)
    loop.run(np.inf, 1.5)  # until it is at rest
    rest, target = loop.sim.q, loop.target.copy()
    loop.force = loop.measured
    rate = sampled(arm, rest, period, gains, stiffness)
    candidates = np.geomspace(20000.0, 5.0, 1000)
    unstable = next(b for b in candidates if rate(b) > 10.0)
    stable = next(b for b in 1.03 ** np.arange(200.0) * unstable if rate(b) < -0.3)
    for b in (unstable, stable):
        loop.sim.set_state(rest, PUSH * (np.arange(arm.nv) == 1))
        loop.target, loop.measured = target.copy(), loop.force
        sizes = [np.ptp(part) for part in np.array_split(loop.run(b, 0.6), 6)]
        assert 1e-3 < sizes[0] and sizes[-1] < loop.force  # it does not lift off
        growth = np.log(sizes[-1] / sizes[0]) / 0.5
        if b == unstable:
            assert growth == pytest.approx(rate(b), rel=0.03)
        else:
            assert growth < 0.0
