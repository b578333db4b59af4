"""Press with 10 N and slide: the linear model of the arm determines which gain is stable."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import expm

import flex_robot_sim as frs

FORCE, SPEED, STIFFNESS = 10.0, 0.05, 2e5  # [N], [m/s], of the contact [N/m]
SERVO = {'stiffness': 20000.0, 'damping': 150.0}  # [N m/rad], [N m s/rad]
START, PERIOD = np.array([-0.35, 1.3]), 2.5e-4  # [rad], of the admittance law [s]
SETTINGS = frs.SimulationSettings(time_step=PERIOD)


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
    """
    Press and slide with the admittance law z' = (F - 10 N) / damping; also the force.

    The arm lands with a damping of 1000 N s/m in the first second, and slides from 2 s on.
    """
    sim, target, force = frs.Simulation(make(friction), SETTINGS), START.copy(), []
    sim.set_state(START)
    for _ in range(round(duration / PERIOD)):
        force.append(sim.contact('tool').force[2])
        slide = SPEED if sim.time > 2.0 else 0.0
        rates = np.array([slide, (force[-1] - FORCE) / (damping if sim.time > 1.0 else 1000.0)])
        target += PERIOD * np.linalg.solve(tool_rows(sim.arm, sim.q)[:, :2], rates)
        sim.hold(target, **SERVO)
        sim.step()
    return sim, np.array(force)


def linear_model(arm, q):
    """Matrix A of arm and servo, column of the height of the target, and row of the force."""
    model = frs.linearise(arm, q, gains=(SERVO['stiffness'], SERVO['damping']))
    J = tool_rows(arm, q)
    by_target = model.B[:, 2:] @ np.linalg.solve(J[:, :2], [0.0, 1.0])
    return model.A, by_target, np.concatenate([-STIFFNESS * J[1], np.zeros(arm.nv)])


def growth(model, damping, period):
    """Growth [1/s] of a pressed arm with a law of this period [s]; 0: a continuous law."""
    A, by_target, force = model
    n = len(A)
    M = np.zeros((n + 2, n + 2))  # of the state, z, and the target that the servo holds
    M[:n, :n], M[n, :n] = A, force / damping
    M[:n, n + 1] = by_target
    if period == 0.0:
        M[:, n] = M[:, n + 1]
        return np.linalg.eigvals(M[: n + 1, : n + 1]).real.max()
    step = expm(period * M)
    step[:, n] += step[:, n + 1]  # the servo holds the z of the start of the period
    return np.log(np.abs(np.linalg.eigvals(step[: n + 1, : n + 1])).max()) / period


def least_damping(arm, q, period):
    """Least damping of a stable law, by bisection [N s/m]."""
    model, low, high = linear_model(arm, q), 1.0, 1e5
    while high > 1.001 * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if growth(model, middle, period) > 0.0 else (low, middle)
    return high


pressed = simulate(1000.0, 0.0, 2.0)[0].q
arms = make(0.0), make(0.0, scale=1e4)
states = pressed, pressed * [1, 1, *np.zeros(len(pressed) - 2)]
for period in (0.0, 1e-4, PERIOD, 5e-4, 1e-3):
    least, rigid = (least_damping(arm, q, period) for arm, q in zip(arms, states))
    print(
        f'period {1e3 * period:.2f} ms: stable from {least:.0f} N s/m on; '
        f'with rigid links, from {rigid:.0f} N s/m on'
    )
least, rigid = (least_damping(arm, q, PERIOD) for arm, q in zip(arms, states))
_, panels = plt.subplots(2, sharex=True)
for panel, damping in zip(panels, (1.2 * rigid, 1.5 * least)):
    sim, force = simulate(damping, 0.1, 4.0)
    last = force[-round(1.0 / PERIOD) :]
    print(f'{damping:.0f} N s/m: mean {last.mean():.2f} N, amplitude {np.ptp(last) / 2:.3f} N')
    panel.plot(np.arange(force.size) * PERIOD, force)
    panel.set(ylabel='force on the floor [N]', title=f'{damping:.0f} N s/m', xlim=(0.5, 4))
    panel.grid()
panel.set(xlabel='time [s]')
plt.tight_layout()
plt.savefig('press_and_slide.png', dpi=120)
