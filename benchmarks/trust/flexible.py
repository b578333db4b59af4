"""Flexible arms, compared with energies, with other formulations, differences and closed forms."""

import numpy as np
from compare import COUPLINGS, GRAVITY, forward, inverse, robot_text
from random_arms import random_robot, random_state
from reference import Reference, along
from scipy.optimize import brentq

import flex_robot_sim as frs
from benchmarks.trust.check import Case, Check, relative_error
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.model.workspace import make_workspace

MAX_LINKS = 3  # of trees whose kinetic energy is differentiated numerically


def _arm(seed, links, damping=False):
    """Return a random tree; the couplings alternate."""
    return frs.load(
        random_robot(seed, links, damping=damping), coupling=COUPLINGS[seed % 2], gravity=GRAVITY
    )


def _small_arm(seed):
    return _arm(seed, 1 + seed % MAX_LINKS)


def _mass_matrix(seed):
    arm = _arm(seed, 1 + seed % 6)
    q, _ = random_state(arm, seed)
    expected = Reference(arm, GRAVITY).mass_matrix(q)
    scale = np.sqrt(np.diag(expected))
    error = relative_error(frs.mass_matrix(arm, q), expected, np.outer(scale, scale))
    return Case(error, {'trees': 1, 'coordinates': arm.size})


def _inverse_dynamics(seed):
    arm = _small_arm(seed)
    q, qd = random_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=arm.size)
    reference = Reference(arm, GRAVITY)
    M = reference.mass_matrix(q)
    error = relative_error(
        inverse(arm, q, qd, qdd), M @ qdd + reference.bias(q, qd), np.sqrt(np.diag(M))
    )
    return Case(error, {'trees': 1, 'coordinates': arm.size})


def _jacobians(seed):
    arm = _arm(seed, 1 + seed % 6)
    q, _ = random_state(arm, seed)
    reference, errors = Reference(arm, GRAVITY), [0.0]
    for link in arm.frames:
        J = reference.jacobian(q, link)
        if J.any():
            errors.append(relative_error(frs.jacobian(arm, q, link=link), J))
    return Case(max(errors), {'trees': 1, 'links': len(arm.frames)})


def _accelerations(seed):
    arm = _arm(seed, 1 + seed % 8)
    q, qd = random_state(arm, seed)
    effort = np.random.default_rng(seed).normal(size=len(arm.joint_names))
    work, found = make_workspace(arm.arrays), np.zeros(arm.size)
    implicit_dynamics(arm.arrays, q, qd, effort, 0.0, found, work, found)
    expected = wrench_dae.make(arm).accelerations(q, qd, work.force.copy())
    scale = np.sqrt(np.diag(frs.mass_matrix(arm, q)))
    return Case(relative_error(found, expected, 1 / scale), {'trees': 1, 'coordinates': arm.size})


def _derivatives(seed):
    """Derivatives of accelerations, in motion, where friction does not stick."""
    arm = _arm(seed, 1 + seed % 4, damping=True)
    q, qd = random_state(arm, seed)
    qd += 0.5 * np.sign(qd)
    effort = np.random.default_rng(seed).normal(size=len(arm.joint_names))
    found, units = frs.derivatives(arm, q, qd, effort), np.eye(arm.size)
    scale = np.sqrt(np.diag(frs.mass_matrix(arm, q)))
    by_coordinate = [
        along(lambda t, u=u: forward(arm, q + t * u, qd, effort), 3e-4) for u in units
    ]
    by_rate = [along(lambda t, u=u: forward(arm, q, qd + t * u, effort), 0.05) for u in units]
    weights = np.outer(1 / scale, scale)
    error = max(
        relative_error(found.da_dq, np.transpose(by_coordinate), weights),
        relative_error(found.da_dv, np.transpose(by_rate), weights),
    )
    return Case(error, {'trees': 1, 'derivatives': 2 * arm.size**2})


def _cantilever(seed):
    """Frequencies and sag of a clamped beam of random size (Euler and Bernoulli, Saint-Venant)."""
    rng = np.random.default_rng(seed)
    length, mass = rng.uniform(0.2, 3.0), rng.uniform(0.1, 5.0)
    EI, GJ, EA = 10.0 ** rng.uniform([0, 0, 5], [4, 3, 8])
    polar = rng.uniform(1e-6, 1e-4) * mass / length  # of a section, mass moment about x [kg m]
    builder = frs.ArmBuilder().add_beam(
        'beam',
        length=length,
        section=frs.SectionStiffness(EI, EI, GJ, EA),
        mass=mass,
        section_inertia=(polar, 0.0, 0.0),
        bending_y=6,
        bending_z=0,
        torsion=6,
        stretch=6,
    )
    arm = builder.attach('beam', parent='base').build(gravity=(0.0, 0.0, 0.0))
    roots = [brentq(lambda x: 1 + np.cos(x) * np.cosh(x), k - 1, k + 1) for k in (1.875, 4.694)]
    bending = np.square(roots) / length**2 * np.sqrt(EI / (mass / length))
    odd = np.pi / (2 * length) * np.array([1, 3])
    expected = np.concatenate(
        [bending, odd * np.sqrt(GJ / polar), odd * np.sqrt(EA / (mass / length))]
    ) / (2 * np.pi)
    found = frs.frequencies(arm, [])
    error = max(np.abs(found - value).min() / value for value in expected)
    return Case(float(error), {'beams': 1, 'frequencies': len(expected)})


def _every_feature(seed):
    """Return the mass matrix of the tree with every feature, in a random state."""
    arm = frs.load(robot_text('every'), coupling=COUPLINGS[seed % 2], gravity=GRAVITY)
    q, _ = random_state(arm, seed)
    expected = Reference(arm, GRAVITY).mass_matrix(q)
    scale = np.sqrt(np.diag(expected))
    error = relative_error(frs.mass_matrix(arm, q), expected, np.outer(scale, scale))
    return Case(error, {'states': 1, 'coordinates': arm.size})


CHECKS = {
    'flexible_mass_matrix': Check(
        'mass matrices of random flexible trees, kinetic energy by dense quadrature',
        1e-10, 80, 2, _mass_matrix,
    ),
    'flexible_every_feature': Check(
        'mass matrices of one tree with every feature, kinetic energy by dense quadrature',
        1e-10, 15, 1, _every_feature,
    ),
    'flexible_inverse_dynamics': Check(
        "forces of random flexible trees, Lagrange's equations by differences of energies",
        1e-9, 40, 1, _inverse_dynamics,
    ),
    'flexible_jacobians': Check(
        'Jacobians of all links of random flexible trees, complex-step derivatives of poses',
        1e-10, 80, 2, _jacobians,
    ),
    'flexible_accelerations': Check(
        'accelerations of random flexible trees, equations of motion with joint wrenches',
        1e-8, 300, 5, _accelerations,
    ),
    'flexible_derivatives': Check(
        'derivatives of accelerations of random flexible trees, differences of sixth order',
        1e-7, 100, 3, _derivatives,
    ),
    'beam_frequencies': Check(
        'frequencies of random clamped beams, closed forms of bending, torsion and stretch',
        1e-9, 200, 4, _cantilever,
    ),
}  # fmt: skip
