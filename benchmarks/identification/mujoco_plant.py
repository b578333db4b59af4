"""The plant of a PlanarArm in MuJoCo: rigid pieces with springs between them."""

import mujoco
import numpy as np
from scipy.linalg import eigh

from benchmarks.identification.bench_log import SERVO_PERIOD

STABLE_SHARE = 0.6  # of the step at which the fastest mode of the chain becomes unstable
ELEMENTS = 20  # of a gear and of friction, in parallel
PRESLIDING = 1e-3  # displacement at which the last element of friction slips [rad]
LUGRE_STIFFNESS = 2e3  # of the bristles, over the friction [1/rad]
LUGRE_DAMPING = 2.0  # the same [s/rad]
OCTAVES = 8  # between the displacements at which the elements of a gear slip
FRICTIONS = 'frictionloss', 'creep', 'slip', 'lugre'
# The force of `frictionloss` also depends on the acceleration. With the default settings of MuJoCo
# it acts 9.5 ms early, and adds the inertia of nine rotors. With these settings it acts 25 us
# early and adds half a per cent of a rotor, so that it is a function of the rate.
CREEP_SOLVER = 'solreffriction="0.01 1" solimpfriction="0.005 0.005 0.001"'


class Elements:
    """Springs in parallel that slip at a largest deflection, rows for the joints."""

    def __init__(self, stiffness, limit):
        """Start with relaxed springs."""
        self.stiffness, self.limit = stiffness, limit
        self.deflection = np.zeros_like(limit)

    def force(self, displacement):
        """Advance by displacements (joints,), and return the forces (joints,)."""
        z = self.deflection
        np.clip(z + displacement[:, None], -self.limit, self.limit, out=z)
        return (self.stiffness * z).sum(axis=1)


class MujocoPlant:
    """Chains of rigid pieces behind elastic gears; the drives have a kind of FRICTIONS."""

    def __init__(self, arm, friction='frictionloss', pieces=24):
        """Compile the model of a PlanarArm with so many pieces in each link."""
        self.arm, self.friction = arm, friction
        self.model = mujoco.MjModel.from_xml_string(model_text(arm, pieces, friction))
        self.data = mujoco.MjData(self.model)
        rate = 2 * np.pi * chain_frequencies(self.model)[-1]
        self.substeps = int(np.ceil(SERVO_PERIOD * rate / (2 * STABLE_SHARE)))  # per servo period
        self.model.opt.timestep = SERVO_PERIOD / self.substeps
        self.motors, self.gears = (
            [self.model.joint(f'{name}{k + 1}').dofadr[0] for k in range(len(arm.drives))]
            for name in ('motor', 'gear')
        )
        places = [
            (
                f'link{k + 1}/{name}',
                f'bend{k + 1}_{piece}',
                pieces / link.length / compliances(pieces)[piece],
            )
            for k, link in enumerate(arm.links)
            for name, piece in zip(('root', 'middle'), (0, pieces // 2))
        ]
        self.gauges = tuple(name for name, _, _ in places)
        self._gauge_rows = [self.model.joint(joint).dofadr[0] for _, joint, _ in places]
        self._gauge_scales = np.array([scale for _, _, scale in places])
        drives = arm.drives
        self.coulomb = np.array([drive.coulomb for drive in drives])
        steps = np.arange(1, ELEMENTS + 1) / ELEMENTS
        # friction: equal forces, which slip at evenly spaced displacements
        limit = np.outer(np.ones(len(drives)), steps * PRESLIDING)
        self.friction_elements = Elements(self.coulomb[:, None] / (ELEMENTS * limit), limit)
        # gear: equal springs, which slip at displacements from half the largest twist downwards;
        # one of stiffness k that slips at s A loses 4 k s (1 - s) A^2 in a cycle of amplitude A
        twist = np.array([drive.effort / drive.stiffness for drive in drives])
        loss = np.array([drive.hysteresis * drive.stiffness for drive in drives])
        self.gear_elements = Elements(
            np.outer(loss, np.full(ELEMENTS, np.log(2.0) * OCTAVES / (ELEMENTS - 1) / 4)),
            np.outer(0.5 * twist, 2.0 ** -np.linspace(0, OCTAVES, ELEMENTS)),
        )
        self.bristles = np.zeros(len(drives))
        self._effort = np.zeros(len(drives))  # of the period before

    @property
    def motor_positions(self):
        """Positions of the motors (joints,) [rad]."""
        return self.data.qpos[self.motors]

    @property
    def motor_rates(self):
        """Velocities of the motors (joints,) [rad/s]."""
        return self.data.qvel[self.motors]

    @property
    def twists(self):
        """Twists of the gears (joints,) [rad]."""
        return self.data.qpos[self.gears]

    @property
    def curvatures(self):
        """Curvatures at the gauges (c,) [1/m]."""
        return self._gauge_scales * self.data.qpos[self._gauge_rows]

    def advance(self, effort):
        """Advance by one period of the servo under constant motor efforts (joints,)."""
        data, step = self.data, self.model.opt.timestep
        # a force acts from half a step before its sample to half a step after it
        first, self._effort = 0.5 * (self._effort + effort), effort
        has_elements = self.friction in ('slip', 'lugre') or self.gear_elements.stiffness.any()
        if not has_elements:
            for steps, force in ((1, first), (self.substeps - 1, effort)):
                data.qfrc_applied[self.motors] = force
                mujoco.mj_step(self.model, data, steps)
            return
        for k in range(self.substeps):
            rates = data.qvel[self.motors]
            if self.friction == 'slip':
                force = self.friction_elements.force(step * rates)
            elif self.friction == 'lugre':
                force = self._bristle_force(rates, step)
            else:
                force = 0.0
            data.qfrc_applied[self.motors] = (effort if k else first) - force
            twist = step * data.qvel[self.gears]
            data.qfrc_applied[self.gears] = -self.gear_elements.force(twist)
            mujoco.mj_step(self.model, data)

    def _bristle_force(self, rates, step):
        """Return the friction of LuGre; its bristles are exact over a step of constant rate."""
        end = np.sign(rates) / LUGRE_STIFFNESS
        before = self.bristles
        decay = np.exp(-step * LUGRE_STIFFNESS * np.abs(rates))
        self.bristles = end + (before - end) * decay
        return self.coulomb * (
            LUGRE_STIFFNESS * self.bristles + LUGRE_DAMPING * (self.bristles - before) / step
        )

    def secant_stiffness(self, amplitude, joint=0):
        """Return the stiffness of a gear between the ends of its loop at a twist amplitude."""
        k, x = (part[joint] for part in (self.gear_elements.stiffness, self.gear_elements.limit))
        return self.arm.drives[joint].stiffness + float(
            (k * np.minimum(x, amplitude)).sum() / amplitude
        )


def compliances(pieces):
    """
    Return the compliances (pieces,) of the springs, over width / EI.

    Springs at the middle of pieces are the midpoint rule. The first three include its end
    correction at the root, width^2 / 24 times the slope there by a one-sided difference. The
    bending moment vanishes at the tip.
    """
    out = np.ones(pieces)
    out[:3] += np.array([2.0, -3.0, 1.0]) / 24
    return out


def chain_frequencies(model):
    """Return the frequencies of a model without dampers [Hz], in rising order."""
    data, count = mujoco.MjData(model), model.nv
    mujoco.mj_forward(model, data)
    inertia = np.zeros((count, count))
    for column, unit in zip(inertia, np.eye(count)):
        mujoco.mj_mulM(model, data, column, unit)
    squares = eigh(np.diag(model.jnt_stiffness), inertia, eigvals_only=True)
    return np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)


def model_text(arm, pieces, friction_kind):
    """Return the MJCF of a PlanarArm."""
    lines = [
        '<mujoco><compiler angle="radian"/>'
        '<option gravity="0 0 0" integrator="implicitfast" '
        'iterations="50" tolerance="1e-12"><flag contact="disable"/></option><worldbody>'
    ]
    place = 0.0
    for k, (drive, link) in enumerate(zip(arm.drives, arm.links), start=1):
        width = link.length / pieces
        mass = width * link.density
        friction = ''
        if friction_kind in ('frictionloss', 'creep'):
            solver = CREEP_SOLVER if friction_kind == 'creep' else ''
            friction = f'frictionloss="{drive.coulomb}" {solver}'
        lines.append(
            f'<body pos="{place} 0 0"><inertial pos="0 0 0" mass="1e-6" diaginertia="1e-9 1e-9 '
            f'1e-9"/><joint name="motor{k}" axis="0 0 1" armature="{drive.rotor}" '
            f'damping="{drive.viscous}" {friction}/>'
        )
        lines.append(
            '<body>'
            + inertial(0.25 * width, mass / 2, width / 2)
            + f'<joint name="gear{k}" axis="0 0 1" stiffness="{drive.stiffness}" '
            f'damping="{drive.damping}"/>'
        )
        stiffnesses = link.EI / width / compliances(pieces)
        for piece, stiffness in enumerate(stiffnesses):
            is_last = piece == pieces - 1
            length = width / 2 if is_last else width
            # springs stand at the middle of the pieces of the beam
            offset = 0.5 * width if piece == 0 else width
            lines.append(
                f'<body pos="{offset} 0 0">'
                + (
                    inertial_with_tip(length, mass / 2, link.tip_mass)
                    if is_last
                    else inertial(length / 2, mass, length)
                )
                + f'<joint name="bend{k}_{piece}" axis="0 0 1" stiffness="{stiffness}" '
                f'damping="{stiffness * link.damping_time}"/>'
            )
        place = width / 2
    lines.append('</body>' * (len(arm.drives) * (pieces + 2)))
    lines.append('</worldbody></mujoco>')
    return ''.join(lines)


def inertial(centre, mass, length):
    """Return the inertia of a thin rod."""
    turning = mass * length**2 / 12
    return (
        f'<inertial pos="{centre} 0 0" mass="{mass}" '
        f'diaginertia="{1e-3 * turning} {turning} {turning}"/>'
    )


def inertial_with_tip(length, mass, tip):
    """Return the inertia of a thin rod with a point mass at its end."""
    total = mass + tip
    centre = (mass * length / 2 + tip * length) / total
    turning = mass * length**2 / 3 + tip * length**2 - total * centre**2
    return (
        f'<inertial pos="{centre} 0 0" mass="{total}" '
        f'diaginertia="{1e-3 * turning} {turning} {turning}"/>'
    )
