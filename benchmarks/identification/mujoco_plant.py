"""The plant of a PlanarArm in MuJoCo, and the logs that a bench would record of it."""

import mujoco
import numpy as np

from benchmarks.identification.planar_arm import PIECES
from flex_robot_sim.identification.log_file import Column, Log

STEP = 5e-5  # of the plant [s]
SERVO_PERIOD = 1e-3  # [s]
LOG_PERIOD = 2e-3  # [s]
ELEMENTS = 20  # of a gear and of friction, in parallel
PRESLIDING = 1e-3  # displacement at which the last element of friction slips [rad]
LUGRE_STIFFNESS = 2e3  # of the bristles, over the friction [1/rad]
LUGRE_DAMPING = 2.0  # the same [s/rad]
OCTAVES = 8  # between the displacements at which the elements of a gear slip
FRICTIONS = 'frictionloss', 'slip', 'lugre'


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

    def __init__(self, arm, friction='frictionloss'):
        """Compile the model of a PlanarArm."""
        self.arm, self.friction = arm, friction
        self.model = mujoco.MjModel.from_xml_string(model_text(arm, friction == 'frictionloss'))
        self.data = mujoco.MjData(self.model)
        self.motors, self.gears = (
            [self.model.joint(f'{name}{k + 1}').dofadr[0] for k in range(len(arm.drives))]
            for name in ('motor', 'gear')
        )
        self.gauges = {
            f'link{k + 1}/{name}': (
                self.model.joint(f'bend{k + 1}_{piece}').dofadr[0],
                PIECES / link.length,
            )
            for k, link in enumerate(arm.links)
            for name, piece in zip(('root', 'middle'), (1, PIECES // 2))
        }
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

    def advance(self, effort, steps):
        """Advance by so many STEPs under constant motor efforts (joints,)."""
        data = self.data
        has_elements = self.friction != 'frictionloss' or self.gear_elements.stiffness.any()
        if not has_elements:
            data.qfrc_applied[self.motors] = effort
            mujoco.mj_step(self.model, data, steps)
            return
        for _ in range(steps):
            rates = data.qvel[self.motors]
            if self.friction == 'slip':
                force = self.friction_elements.force(STEP * rates)
            elif self.friction == 'lugre':
                force = self._bristle_force(rates)
            else:
                force = 0.0
            data.qfrc_applied[self.motors] = effort - force
            twist = STEP * data.qvel[self.gears]
            data.qfrc_applied[self.gears] = -self.gear_elements.force(twist)
            mujoco.mj_step(self.model, data)

    def _bristle_force(self, rates):
        """Return the friction of LuGre; its bristles are exact over a step of constant rate."""
        end = np.sign(rates) / LUGRE_STIFFNESS
        before = self.bristles
        decay = np.exp(-STEP * LUGRE_STIFFNESS * np.abs(rates))
        self.bristles = end + (before - end) * decay
        return self.coulomb * (
            LUGRE_STIFFNESS * self.bristles + LUGRE_DAMPING * (self.bristles - before) / STEP
        )

    def secant_stiffness(self, amplitude, joint=0):
        """Return the stiffness of a gear between the ends of its loop at a twist amplitude."""
        k, x = (part[joint] for part in (self.gear_elements.stiffness, self.gear_elements.limit))
        return self.arm.drives[joint].stiffness + float(
            (k * np.minimum(x, amplitude)).sum() / amplitude
        )


def model_text(arm, has_frictionloss):
    """Return the MJCF of a PlanarArm."""
    lines = [
        '<mujoco><compiler angle="radian"/>'
        f'<option timestep="{STEP}" gravity="0 0 0" integrator="implicitfast" '
        'iterations="50" tolerance="1e-12"><flag contact="disable"/></option><worldbody>'
    ]
    place = 0.0
    for k, (drive, link) in enumerate(zip(arm.drives, arm.links), start=1):
        width = link.length / PIECES
        mass = width * link.density
        friction = f'frictionloss="{drive.coulomb}"' if has_frictionloss else ''
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
        stiffness = link.EI / width
        for piece in range(PIECES):
            is_last = piece == PIECES - 1
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
    lines.append('</body>' * (len(arm.drives) * (PIECES + 2)))
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


def recorded(plant, reference, seconds, gains):
    """
    Return the true samples of a plant whose motors follow a reference by a servo.

    :param reference: function from time to positions and rates (joints,).
    :param gains: stiffness and damping (joints,) of the servo.
    :returns: times (k,), and columns by name: motor and link positions, mean efforts around each
        sample, curvatures, and the twist of each gear.
    """
    data, joints = plant.data, len(plant.motors)
    steps, per_servo, per_row = (
        round(time / STEP) for time in (seconds, SERVO_PERIOD, LOG_PERIOD)
    )
    rows = np.empty((steps // per_row + 1, 3 * joints + len(plant.gauges)))
    efforts = np.empty((steps // per_servo, joints))
    limit = np.array([drive.effort for drive in plant.arm.drives])
    gauge_rows = [row for row, _ in plant.gauges.values()]
    gauge_scales = np.array([scale for _, scale in plant.gauges.values()])
    for k in range(len(efforts) + 1):
        step = k * per_servo
        if step % per_row == 0:
            motors, twists = data.qpos[plant.motors], data.qpos[plant.gears]
            rows[step // per_row] = np.concatenate(
                [motors, motors + twists, twists, data.qpos[gauge_rows] * gauge_scales]
            )
        if k == len(efforts):
            break
        place, rate = reference(step * STEP)
        effort = gains[0] * (place - data.qpos[plant.motors])
        effort += gains[1] * (rate - data.qvel[plant.motors])
        efforts[k] = np.clip(effort, -limit, limit)
        plant.advance(efforts[k], per_servo)
    # mean of the period around each sample
    per_period = per_row // per_servo
    padded = np.pad(efforts, ((per_period // 2, per_period), (0, 0)), mode='edge')
    means = np.array(
        [padded[k : k + per_period].mean(axis=0) for k in range(0, len(efforts) + 1, per_period)]
    )
    columns = {}
    for j in range(joints):
        columns[f'motor/joint{j + 1}'] = rows[:, j]
        columns[f'position/joint{j + 1}'] = rows[:, joints + j]
        columns[f'twist/joint{j + 1}'] = rows[:, 2 * joints + j]
        columns[f'effort/joint{j + 1}'] = means[:, j]
    for k, name in enumerate(plant.gauges):
        columns[name] = rows[:, 3 * joints + k]
    return np.arange(len(rows)) * LOG_PERIOD, columns


def log_of(
    times, columns, *, delay=0.0, seed=0, gauge_noise=4e-4, encoder_counts=65536, name='log'
):
    """Return the Log that a bench would record: late, in encoder counts, with noisy gauges."""
    random, turn = np.random.default_rng(seed), 2 * np.pi / encoder_counts
    out = {}
    for path, values in columns.items():
        if path.startswith('twist/'):
            continue
        if not path.startswith('effort/'):
            values = np.interp(times - delay, times, values)
        if path.startswith(('motor/', 'position/')):
            values = turn * np.round(values / turn)
        elif path.startswith('link'):
            values = values + random.normal(0, gauge_noise, values.size)
        out[path] = Column(times, values)
    return Log(name, out, [])
