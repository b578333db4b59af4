"""Press with 10 N and slide: the linear model of the arm determines which gain is stable."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import cont2discrete

import flex_robot_sim as frs

FORCE, SPEED, STIFFNESS = 10.0, 0.05, 2e5  # [N], [m/s], of the contact [N/m]
SERVO = {'stiffness': 20000.0, 'damping': 150.0}  # [N m/rad], [N m s/rad]
START, TIME_STEP = np.array([-0.35, 1.3]), 2e-4  # [rad], of the controller, too [s]


def make(friction, scale=1.0):
    """Return an arm of two tubes, `scale` times as stiff, above a floor."""
    material = frs.Material(E=7e10 * scale, G=2.6e10 * scale, density=2700)
    upper, fore = frs.Tube(0.03, 0.0015), frs.Tube(0.02, 0.001)
    return (
        frs.ArmBuilder('press')
        .add_beam('upper', length=0.5, section=upper, material=material, damping_ratio=0.01)
        .add_beam('fore', length=0.4, section=fore, material=material, damping_ratio=0.01)
        .add_rigid('tool', shape=frs.Sphere(0.02), mass=0.3)
        .add_joint('shoulder', parent='base', child='upper', axis='y')
        .add_joint('elbow', parent='upper', child='fore', axis='y')
        .attach('tool', parent='fore')
        .add_ground(height=-0.18, friction=friction)
        .add_contact('tool', link='tool', shape=frs.Sphere(0.02), stiffness=STIFFNESS, damping=20)
        .build()
    )


def tool_rows(arm, q):
    """Rows (2, nv) of the Jacobian: x and z of the tool."""
    return frs.jacobian(arm, q, link='tool', representation='hybrid')[[3, 5]]


def simulate(damping, friction, duration):
    """Press and slide with the admittance law z' = (F - 10 N) / damping; also the force."""
    sim = frs.Simulation(make(friction), frs.SimulationSettings(time_step=TIME_STEP))
    target, force = START.copy(), []
    sim.set_state(START)
    for _ in range(round(duration / TIME_STEP)):
        force.append(sim.contact('tool').force[2])
        slide = SPEED if sim.time > 1.0 else 0.0
        rates = np.array([slide, (force[-1] - FORCE) / damping])
        target += TIME_STEP * np.linalg.solve(tool_rows(sim.arm, sim.q)[:, :2], rates)
        sim.hold(target, **SERVO)
        sim.step()
    return sim, np.array(force)


def growth(arm, q, damping, period):
    """Largest growth rate of the sampled loop of arm, servo and admittance law [1/s]."""
    model = frs.linearise(arm, q, gains=(SERVO['stiffness'], SERVO['damping']))
    J = tool_rows(arm, q)
    by_target = model.B[:, 2:] @ np.linalg.solve(J[:, :2], [0.0, 1.0])
    force = np.concatenate([-STIFFNESS * J[1], np.zeros(arm.nv)])
    A, b, *_ = cont2discrete((model.A, by_target[:, None], force[None], 0.0), period)
    # state, target, and mean force of the last step: x1 = A x + b z1, z1 = z + period F / damping
    after = np.hstack([A, b, b * period / damping])
    target = np.concatenate([0.0 * force, [1.0, period / damping]])
    mean_force = 0.5 * (force @ after + np.concatenate([force, [0.0, 0.0]]))
    loop = np.vstack([after, target, mean_force])
    return np.log(abs(np.linalg.eigvals(loop)).max()) / period


def least_damping(arm, q, period):
    """Least damping of a stable law, by bisection [N s/m]."""
    low, high = 1.0, 1e5
    while high > 1.001 * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if growth(arm, q, middle, period) > 0.0 else (low, middle)
    return high


pressed = simulate(1000.0, 0.0, 2.0)[0].q
straight = pressed * [1, 1, *np.zeros(len(pressed) - 2)]
for period in (1e-3, TIME_STEP):
    least = least_damping(make(0.0), pressed, period)
    rigid = least_damping(make(0.0, scale=1e4), straight, period)
    print(
        f'controller period {1e3 * period:g} ms: stable from {least:.0f} N s/m on, '
        f'with rigid links from {rigid:.0f} N s/m on'
    )
_, panels = plt.subplots(2, sharex=True)
for panel, damping in zip(panels, (1.2 * rigid, 2.5 * least)):
    sim, force = simulate(damping, 0.1, 3.0)
    last = force[-round(1.0 / TIME_STEP) :]
    print(f'{damping:.0f} N s/m: mean {last.mean():.2f} N, amplitude {np.ptp(last) / 2:.3f} N')
    panel.plot(np.arange(force.size) * TIME_STEP, force)
    panel.set(ylabel='force on the floor [N]', title=f'{damping:.0f} N s/m', xlim=(0, 1.5))
    panel.grid()
panel.set(xlabel='time [s]')
plt.tight_layout()
plt.savefig('press_and_slide.png', dpi=120)
