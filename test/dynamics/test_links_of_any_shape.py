"""The shipped robots with curved and printed links, against closed forms and other elements."""

import numpy as np
import pytest

import flex_robot_sim as frs

E, NU, DENSITY = 2.3e9, 0.35, 1240.0  # of the printed link


def test_a_curved_arm_bends_under_its_lamp_as_by_castigliano():
    arm = frs.load('curved_arm', gravity=(0, 0, 0))
    radius, force = 0.5, 5.0
    inner, outer = 0.013, 0.015
    EI = 7e10 * np.pi / 4 * (outer**4 - inner**4)
    EA, GJ = 7e10 * np.pi * (outer**2 - inner**2), 2.6e10 * np.pi / 2 * (outer**4 - inner**4)
    start = frs.pose(arm, np.zeros(arm.size), link='lamp')[:3, 3]

    def moved(*direction):
        push = frs.Push('lamp', force=force * np.array(direction))
        rest = frs.equilibrium(arm, pushes=[push])
        return (frs.pose(arm, rest.q, link='lamp')[:3, 3] - start) @ direction

    # a quarter of a circle, clamped where its tangent is x: Timoshenko, Strength of Materials
    along = force * radius * np.pi / 4 * (radius**2 / EI + 1 / EA)
    sideways = force * radius**3 * (np.pi / 4 / EI + (3 * np.pi / 4 - 2) / GJ)
    up = force * radius * (radius**2 * (3 * np.pi / 4 - 2) / EI + np.pi / 4 / EA)
    assert moved(0, 0, 1) == pytest.approx(up, rel=2e-3)
    assert moved(0, 1, 0) == pytest.approx(sideways, rel=2e-3)
    assert moved(1, 0, 0) == pytest.approx(along, rel=2e-3)


def printed_boxes():
    """Lines of a grid and its solid cells (x, y, z): the drawing of the printed link."""
    x = np.array([0, 8, 60, 84, 136, 160, 212, 236, 288, 300]) * 1e-3
    y, z = np.array([-12, -3, 3, 12]) * 1e-3, np.array([-16, -10, 10, 16]) * 1e-3
    cells = [(i, j, k) for i in range(9) for j in range(3) for k in (0, 2)]
    cells += [(i, 1, 1) for i in (2, 4, 6)] + [(i, j, 1) for i in (0, 8) for j in range(3)]
    return (x, y, z), cells


def test_a_printed_arm_weighs_as_its_boxes_and_has_their_moments():
    lines, cells = printed_boxes()
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for cell in cells:
        low, high = (np.array([lines[a][cell[a] + end] for a in range(3)]) for end in (0, 1))
        one, centre = DENSITY * np.prod(high - low), (low + high) / 2
        mass, first = mass + one, first + one * centre
        second += one * (np.outer(centre, centre) + np.diag((high - low) ** 2) / 12)
    second -= np.outer(first, first) / mass
    inertial = frs.read_description('printed_arm').link('upper_arm').inertial
    assert inertial.mass == pytest.approx(mass, rel=1e-5)
    assert inertial.centre == pytest.approx(first / mass, abs=1e-6)
    inertia = np.trace(second) * np.eye(3) - second
    assert inertial.inertia == pytest.approx(inertia, rel=1e-4, abs=1e-10)


def test_a_printed_link_has_the_frequencies_of_cubes():
    """Hexahedra of scikit-fem, from the boxes of the drawing, with the root clamped."""
    fem = pytest.importorskip('skfem')
    from scipy.sparse.linalg import eigsh
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    lines, cells = printed_boxes()
    x, y, z = (_refined(line, size) for line, size in zip(lines, (0.014, 0.01, 0.011)))
    mesh = fem.MeshHex.init_tensor(x, y, z)
    middle = mesh.p[:, mesh.t].mean(axis=1).T
    found = [np.searchsorted(line, middle[:, a]) - 1 for a, line in enumerate(lines)]
    solid = {*cells}
    mesh = mesh.restrict(np.flatnonzero([cell in solid for cell in zip(*map(tuple, found))]))
    basis = fem.Basis(mesh, fem.ElementVector(fem.ElementHex2()), intorder=4)
    K = linear_elasticity(*lame_parameters(E, NU)).assemble(basis)
    mass = fem.BilinearForm(lambda u, v, _: DENSITY * (u * v).sum(axis=0)).assemble(basis)
    held = basis.get_dofs(lambda p: p[0] < 1e-9)
    K, mass, *_ = fem.condense(K, mass, D=held)
    values = eigsh(K, 3, mass, sigma=0.0, return_eigenvectors=False)
    expected = np.sqrt(np.sort(values)) / (2 * np.pi)
    link = frs.read_description('printed_arm').beam('upper_arm').reduced.link
    # the mesh of the file is coarser, and its tip is rigid
    assert link.frequencies[:2] == pytest.approx(expected[:2], rel=0.015)
    assert link.mesh_frequencies[:3] == pytest.approx(expected, rel=0.03)


def _refined(line, size):
    parts = [np.linspace(a, b, 1 + int(np.ceil((b - a) / size))) for a, b in zip(line, line[1:])]
    return np.unique(np.concatenate(parts).round(9))
