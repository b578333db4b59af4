"""Reduced links of bars, against beams, closed forms and sums over points."""

import numpy as np
import pytest
from box_meshes import box_mesh
from scipy import sparse
from scipy.sparse.linalg import splu
from scipy.spatial.transform import Rotation

from flex_robot_sim.elastic.eigenmodes import bending_roots
from flex_robot_sim.reduction.elasticity import (
    Material,
    Mesh,
    assemble,
    four_points,
    fourteen_points,
    jacobians,
    shape_functions,
)
from flex_robot_sim.reduction.freedoms import Mass, freedoms_of
from flex_robot_sim.reduction.mean_modes import mean_eigenvalues
from flex_robot_sim.reduction.multifrontal import MultifrontalFactor, SingularMatrix
from flex_robot_sim.reduction.ordering import elimination_parts
from flex_robot_sim.reduction.reduce_mesh import reduce_mesh
from flex_robot_sim.reduction.second_order import second_order, second_order_forces
from flex_robot_sim.reduction.shapes import make_shapes, mesh_modes
from flex_robot_sim.reduction.supports import (
    SUPPORTS,
    Interface,
    MeanSupport,
    ReductionError,
    RigidSupport,
)

MATERIAL = Material(7e10, 0.0, 2700.0)  # no lateral contraction, as beams
LENGTH, WIDTH, HEIGHT = 1.0, 0.03, 0.02


def ends(mesh, length=LENGTH):
    x = mesh.nodes[:, 0]
    root = Interface('root', np.zeros(3), np.flatnonzero(x < 1e-9))
    tip = Interface('tip', np.array([length, 0.0, 0.0]), np.flatnonzero(x > length - 1e-9))
    return root, tip


@pytest.fixture(scope='module')
def bar():
    """Bar along x, 12 elements long."""
    return box_mesh((LENGTH, WIDTH, HEIGHT), (12, 1, 1), (0.0, -WIDTH / 2, -HEIGHT / 2))


@pytest.fixture(scope='module')
def link(bar):
    root, tip = ends(bar)
    return reduce_mesh(bar, MATERIAL, [root, tip])


def bending_frequencies(height, count):
    roots, _ = bending_roots(count)
    return roots**2 / (2 * np.pi) * np.sqrt(MATERIAL.E * height**2 / 12 / MATERIAL.density)


def test_frequencies_of_a_bar_are_those_of_the_beam_within_one_percent(link):
    expected = np.sort([*bending_frequencies(HEIGHT, 3), *bending_frequencies(WIDTH, 3)])[:4]
    assert link.frequencies[:4] == pytest.approx(expected, rel=0.01)
    # rounding: the largest eigenvalue of the stiffness is more than 1e8 times the smallest one
    assert link.frequencies[:4] == pytest.approx(link.mesh_frequencies[:4], rel=1e-8)
    assert link.mass == pytest.approx(MATERIAL.density * WIDTH * HEIGHT, rel=1e-12)


def test_tip_wrenches_cause_the_deflection_of_a_beam(link):
    [U], compliance = link.station_shapes, np.diag(1 / np.diag(link.K))
    flexibility = U @ compliance @ U.T
    EIz = MATERIAL.E * HEIGHT * WIDTH**3 / 12
    EA, GA = MATERIAL.E * HEIGHT * WIDTH, MATERIAL.E / 2 * HEIGHT * WIDTH
    assert flexibility[3, 3] == pytest.approx(1 / EA, rel=1e-6)
    assert flexibility[2, 2] == pytest.approx(1 / EIz, rel=2e-3)
    assert flexibility[2, 4] == pytest.approx(1 / (2 * EIz), rel=2e-3)
    assert flexibility[4, 4] == pytest.approx(1 / (3 * EIz) + 1.2 / GA, rel=2e-3)


def test_shortening_and_setback_of_the_tip_are_those_of_a_beam(link):
    """The tip of the first mode moves back by -int v'^2 = -1.16178 of its square."""
    [U], [Q] = link.station_shapes, link.station_second
    # v of cosh x - cos x - s (sinh x - sin x) at 2 at the tip: int v'^2 dx = 4.6478 / 4
    first = 0 if abs(U[5, 0]) > 0.9 else 1
    assert Q[first, first, 3] == pytest.approx(-4.64778 / 4, rel=5e-3)
    assert np.all(link.soft <= 6)


@pytest.mark.parametrize('kind', ['rigid', 'mean'])
def test_interfaces_of_both_kinds_hold_the_root(bar, kind):
    root, tip = ends(bar)
    K, mass = assemble(bar, MATERIAL)
    support = SUPPORTS[kind](freedoms_of(bar.nodes), K, root, [tip])
    u = support.solve(support.loads(tip))
    assert np.abs(support.motion(root, u)).max() < 1e-12 * np.abs(u).max()
    # the root carries the wrench: forces elsewhere are those of the tip
    forces = K @ u - support.loads(tip)
    held, moved = (support.freedoms.rows(one.nodes) for one in (root, tip))
    wrench = support.freedoms.motions(root.origin, held).T @ forces[held]
    assert np.abs(wrench[3:] + np.eye(6)[3:]).max() < 1e-6
    forces[held] = 0.0
    if kind == 'rigid':  # forces in equilibrium keep the nodes of the tip in place
        assert np.abs(support.freedoms.motions(tip.origin, moved).T @ forces[moved]).max() < 1e-6
        forces[moved] = 0.0
    assert np.abs(forces).max() < 1e-6 * np.abs(support.loads(tip)).max()
    values, _ = mesh_modes(support, Mass(mass), 4)
    lowest = bending_frequencies(HEIGHT, 1)[0]
    assert np.sqrt(values[0]) / (2 * np.pi) == pytest.approx(lowest, rel=0.01)


def test_modes_are_those_of_dense_algebra(bar):
    from scipy.linalg import eigh

    root, tip = ends(bar)
    K, mass = assemble(bar, MATERIAL)
    T = RigidSupport(freedoms_of(bar.nodes), K, root, [tip]).transformation.toarray()
    expected = eigh(T.T @ K @ T, T.T @ np.kron(mass.toarray(), np.eye(3)) @ T, eigvals_only=True)
    values, _ = mesh_modes(RigidSupport(freedoms_of(bar.nodes), K, root, [tip]), Mass(mass), 6)
    assert values == pytest.approx(expected[:6], rel=1e-7)
    held = MeanSupport(freedoms_of(bar.nodes), K, root, [tip])
    B = held.loads(root)
    free = np.linalg.svd(B.T)[2][6:].T  # B^T u = 0
    M = free.T @ np.kron(mass.toarray(), np.eye(3)) @ free
    expected = eigh(free.T @ K @ free, M, eigvals_only=True)
    values, _ = mesh_modes(held, Mass(mass), 6)
    assert values == pytest.approx(expected[:6], rel=1e-6)
    rigid = RigidSupport(freedoms_of(bar.nodes), K, root, [tip])
    values = mean_eigenvalues(rigid, Mass(mass), mesh_modes(rigid, Mass(mass), 6)[1])
    assert values == pytest.approx(expected[:6], rel=1e-4)


def energy(mesh, material, u):
    """Strain energy of displacements (N, 3) with the full strain of Green and Lagrange."""
    (lame, mu), (points, weights) = material.lame, four_points()
    from flex_robot_sim.reduction.elasticity import shape_gradients

    inverse = np.linalg.inv(jacobians(mesh, mesh.elements, points))
    gradients = np.matmul(shape_gradients(points), inverse)
    H = np.einsum('kma,kgmb->kgab', u[mesh.elements], gradients)
    strain = (H + H.swapaxes(2, 3) + np.matmul(H.swapaxes(2, 3), H)) / 2
    volume = np.abs(np.linalg.det(jacobians(mesh, mesh.elements, points))) * weights
    trace = np.trace(strain, axis1=2, axis2=3)
    return np.sum(volume * (lame / 2 * trace**2 + mu * np.sum(strain**2, axis=(2, 3))))


@pytest.fixture(scope='module')
def curved():
    """Bent bar with curved edges, of a material with lateral contraction."""
    mesh = box_mesh((0.4, 0.05, 0.03), (4, 1, 1))
    x, y, z = mesh.nodes.T
    nodes = np.stack([x, y + 0.5 * x**2, z + 0.1 * x * y], 1)
    return Mesh(nodes, mesh.elements), Material(7e10, 0.33, 2700.0)


def test_forces_of_second_order_are_slopes_of_the_strain_energy(curved):
    mesh, material = curved
    generator = np.random.default_rng(0)
    a, b, d = generator.standard_normal((3, len(mesh.nodes), 3))
    shapes = np.stack([a.ravel(), b.ravel()], 1)
    forces = second_order_forces(mesh, material, shapes, [(0, 0), (1, 0)])

    def cubic(u):
        """Part of third order of the energy, which is a polynomial of degree four."""
        return (8 * (energy(mesh, material, u) - energy(mesh, material, -u))) / 16

    for pair, u in ((0, (a, a)), (1, (a, b))):
        # f2(a, b) . d is the slope along a of half of the slope along b and so on: polarised
        polar = sum(
            s * t * cubic(s * u[0] + t * u[1] + d) - s * t * cubic(s * u[0] + t * u[1] - d)
            for s in (1, -1)
            for t in (1, -1)
        )
        assert forces[:, pair] @ d.ravel() == pytest.approx(polar / 16, rel=1e-8)


def test_energy_to_third_order_is_that_of_the_mesh(curved):
    """Along Phi e + 1/2 Q e e, 1/2 e K e + 1/3 C e e e is the energy to third order."""
    mesh, material = curved
    root, tip = ends(mesh, 0.4)
    K, mass = assemble(mesh, material)
    support = RigidSupport(freedoms_of(mesh.nodes), K, root, [tip])
    shapes = make_shapes(support, Mass(mass), 4)
    second = second_order(mesh, material, support, shapes)
    s = len(second.cubic)
    assert s >= 2
    e = np.random.default_rng(1).standard_normal(s + 1)  # and one stiff coordinate
    phi, stiffness = shapes.values[:, : s + 1], shapes.stiffness[: s + 1]

    def exact(t):
        u = phi @ (t * e) + t**2 / 2 * np.einsum('ajk,j,k->a', second.field, e[:s], e[:s])
        return energy(mesh, material, u.reshape(-1, 3))

    # the odd part of the energy is of third order, but for the fifth order
    h = 1e-3
    odd = [(exact(t) - exact(-t)) / (2 * t**3) for t in (h, h / 2)]
    stiff = e[s] * e[:s]
    phi_s = phi[:, s]
    cubic = np.einsum('ijk,i,j,k', second.cubic, e[:s], e[:s], e[:s]) / 3
    # terms with the square of the stiff coordinate remain
    pairs = [(s, s), *((s, j) for j in range(s))]
    forces = second_order_forces(mesh, material, phi, pairs)
    cubic += phi_s @ forces[:, 0] / 3 * e[s] ** 3
    cubic += sum(phi[:, j] @ forces[:, 0] * e[s] ** 2 * e[j] for j in range(s))
    assert (4 * odd[1] - odd[0]) / 3 == pytest.approx(cubic, rel=1e-4)
    assert exact(h) == pytest.approx(h * h / 2 * np.sum(stiffness * e * e), rel=0.1)
    assert stiff.size == s


def test_a_rigid_tip_stays_rigid_to_second_order(curved):
    mesh, material = curved
    root, tip = ends(mesh, 0.4)
    link = reduce_mesh(mesh, material, [root, tip])
    K, mass = assemble(mesh, material)
    support = RigidSupport(freedoms_of(mesh.nodes), K, root, [tip])
    shapes = make_shapes(support, Mass(mass), 6)
    second = second_order(mesh, material, support, shapes)
    e = 1e-2 * np.random.default_rng(2).standard_normal(link.soft)
    s = link.soft
    u = shapes.values[:, :s] @ e + np.einsum('ajk,j,k->a', second.field, e, e) / 2
    points = (mesh.nodes + u.reshape(-1, 3))[tip.nodes]
    distance = np.linalg.norm(points[1:] - points[0], axis=1)
    rest = np.linalg.norm(mesh.nodes[tip.nodes][1:] - mesh.nodes[tip.nodes][0], axis=1)
    linear = mesh.nodes[tip.nodes] + (shapes.values[:, :s] @ e).reshape(-1, 3)[tip.nodes]
    turned = np.linalg.norm(linear[1:] - linear[0], axis=1)
    assert np.abs(distance - rest).max() < 0.05 * np.abs(turned - rest).max()


def test_integrals_are_sums_over_points(curved):
    """Momenta of the deformed link, from points inside the elements."""
    mesh, material = curved
    root, tip = ends(mesh, 0.4)
    link = reduce_mesh(mesh, material, [root, tip])
    K, mass = assemble(mesh, material)
    support = RigidSupport(freedoms_of(mesh.nodes), K, root, [tip])
    shapes = make_shapes(support, Mass(mass), 6)
    field = second_order(mesh, material, support, shapes).field
    n, s = link.size, link.soft
    points, weights = fourteen_points()
    N = shape_functions(points)
    dm = np.abs(np.linalg.det(jacobians(mesh, mesh.elements, points))) * weights
    dm = (dm * material.density).ravel()

    def at_points(values):
        return np.einsum('gm,km...->kg...', N, values[mesh.elements]).reshape(
            dm.size, *values.shape[1:]
        )

    X = at_points(mesh.nodes)
    phi = at_points(shapes.values.reshape(-1, 3, n))
    Q = at_points(field.reshape(-1, 3, s, s))
    generator = np.random.default_rng(3)
    e = 1e-4 * generator.standard_normal(n)
    part = slice(0, s)
    r = X + phi @ e + np.einsum('pajk,j,k->pa', Q, e[part], e[part]) / 2
    dr = phi.copy()
    dr[:, :, part] += np.einsum('paij,j->pai', Q, e[part])
    S = link.S0 + e @ link.S1 + np.einsum('jka,j,k->a', link.S2, e[part], e[part]) / 2
    assert pytest.approx(dm @ r, rel=1e-10) == S
    h = np.einsum('p,pa,pbi->iab', dm, r, dr)
    h = np.stack([h[:, 1, 2] - h[:, 2, 1], h[:, 2, 0] - h[:, 0, 2], h[:, 0, 1] - h[:, 1, 0]], 1)
    ours = link.h0 + np.einsum('ija,j->ia', link.h1, e)
    # what is left out is of third order, in the product of Phi e and Q e
    assert np.abs(h - ours).max() < 2e-6 * np.abs(ours).max()
    J = np.einsum('p,pab->ab', dm, _inertia(r))
    ours = link.J0 + np.einsum('iab,i->ab', link.J1, e)
    ours = ours + np.einsum('jkab,j,k->ab', link.J2, e, e) / 2
    assert np.abs(J - ours).max() < 1e-9 * np.abs(J).max()
    E = np.einsum('p,pai,paj->ij', dm, dr, dr)
    X3 = np.zeros((n, n))
    X3[:, part] = np.einsum('ijk,k->ij', link.X, e[part])
    G = np.einsum('rij,j->ri', link.G, e[part])
    ours = link.E0 + X3 + X3.T
    ours[part, part] += np.einsum('ri,rj->ij', G, G)
    scale = np.sqrt(np.outer(np.diag(E), np.diag(E)))
    assert np.abs((E - ours) / scale).max() < 1e-7
    # at rest, all terms are exact
    assert np.einsum('p,pai,paj->ij', dm, phi, phi) == pytest.approx(link.E0, rel=1e-10, abs=1e-12)
    at_rest = np.einsum('p,pab->ab', dm, _inertia(X))
    assert at_rest == pytest.approx(link.J0, rel=1e-10, abs=1e-14)


def _inertia(r):
    return np.einsum('pa,pa,bc->pbc', r, r, np.eye(3)) - np.einsum('pb,pc->pbc', r, r)


def test_strain_at_the_surface_is_that_of_bending(link):
    """Under a unit moment at the tip, the strain is y / EI along the link."""
    [U] = link.station_shapes
    e = U[2] / np.diag(link.K)
    EIz = MATERIAL.E * HEIGHT * WIDTH**3 / 12
    strain = link.strain(np.array([0.5, -WIDTH / 2, HEIGHT / 2]), np.array([1.0, 0.0, 0.0])) @ e
    assert strain == pytest.approx(WIDTH / 2 / EIz, rel=0.02)
    across = link.strain(np.array([0.5, -WIDTH / 2, HEIGHT / 2]), np.array([0.0, 0.0, 1.0])) @ e
    assert abs(across) < 0.02 * strain


def test_surface_is_closed_and_encloses_the_volume(link):
    corners = link.surface_points[link.surface_triangles].astype(float)
    volume = np.einsum('ta,ta->', corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    assert volume == pytest.approx(LENGTH * WIDTH * HEIGHT, rel=1e-6)


def test_a_hole_and_interfaces_on_a_line_are_refused(bar):
    root, tip = ends(bar)
    separate = box_mesh((1.0, 0.1, 0.1), (2, 1, 1), (5.0, 0.0, 0.0))
    both = Mesh(
        np.vstack([bar.nodes, separate.nodes]),
        np.vstack([bar.elements, separate.elements + len(bar.nodes)]),
    )
    with pytest.raises(ReductionError, match='the mesh has 2 pieces that are not connected'):
        reduce_mesh(both, MATERIAL, [root, tip])
    line = root._replace(nodes=root.nodes[np.abs(bar.nodes[root.nodes, 1]) < 1e-9])
    with pytest.raises(ReductionError, match=r'"root": its nodes \(3\) lie on one line'):
        reduce_mesh(bar, MATERIAL, [line, tip])


def test_joints_that_hold_the_same_nodes_move_together(bar):
    """Their frames differ by a rigid arm, to second order."""
    root, tip = ends(bar)
    place = np.array([LENGTH, 0.1, -0.05])
    camera = tip._replace(name='camera', origin=place)
    base = root._replace(name='base', origin=np.array([0.0, 0.2, 0.0]))
    link = reduce_mesh(bar, MATERIAL, [root, tip, camera, base])
    assert link.station_names == ('tip', 'camera', 'base')
    assert not link.station_shapes[2].any() and not link.station_second[2].any()
    direction, s = np.random.default_rng(5).standard_normal(link.soft), link.soft
    errors = []
    for size in (2e-3, 1e-3):
        e = size * direction
        poses = []
        for U, Q, x in zip(link.station_shapes, link.station_second, link.station_points):
            motion = U[:, :s] @ e + np.einsum('jka,j,k->a', Q, e, e) / 2
            turn = Rotation.from_rotvec(motion[:3])
            poses.append((turn, x + motion[3:]))
        (turn, point), (turn_2, point_2), _ = poses
        assert (turn.inv() * turn_2).magnitude() < 1e-12
        errors.append(np.linalg.norm(point + turn.apply(place - tip.origin) - point_2))
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.05)  # of third order


def test_a_hinge_in_the_mesh_is_a_mechanism(bar):
    """Two bars that share the nodes of one edge only."""
    other = box_mesh((0.4, WIDTH, HEIGHT), (4, 1, 1), (LENGTH, -WIDTH / 2, HEIGHT / 2))
    nodes = np.vstack([bar.nodes, other.nodes])
    _, first, same = np.unique(nodes.round(9), axis=0, return_index=True, return_inverse=True)
    elements = np.vstack([bar.elements, other.elements + len(bar.nodes)])
    hinged = Mesh(nodes[first], same.ravel()[elements])
    root, tip = ends(hinged, LENGTH + 0.4)
    with pytest.raises(ReductionError, match='is a mechanism|a part can move without deformation'):
        reduce_mesh(hinged, MATERIAL, [root, tip])


def test_stretch_is_no_soft_coordinate():
    """A short bar: stretch and torsion are among the first modes."""
    short = box_mesh((0.1, 0.03, 0.02), (4, 1, 1), (0.0, -0.015, -0.01))
    link = reduce_mesh(short, MATERIAL, ends(short, 0.1), modes=8)
    [U] = link.station_shapes
    stretch = [k for k in range(link.size) if abs(U[3, k]) > 0.9]
    assert stretch and min(stretch) >= link.soft >= 2


def test_modes_that_the_interfaces_measure_are_chosen():
    """A bar with a thin fin, whose own modes are slow, move the tip little."""
    bar = box_mesh((0.2, 0.03, 0.03), (4, 1, 1), (0.0, -0.015, -0.015))
    fin = box_mesh((0.0025, 0.03, 0.15), (1, 1, 5), (0.1, -0.015, 0.015))
    fin.nodes[:, 0] = np.where(
        fin.nodes[:, 2] < 0.0151, 0.1 + 20 * (fin.nodes[:, 0] - 0.1), fin.nodes[:, 0]
    )
    nodes = np.vstack([bar.nodes, fin.nodes])
    _, first, same = np.unique(nodes.round(9), axis=0, return_index=True, return_inverse=True)
    elements = np.vstack([bar.elements, fin.elements + len(bar.nodes)])
    mesh = Mesh(nodes[first], same.ravel()[elements])
    link = reduce_mesh(mesh, MATERIAL, ends(mesh, 0.2), modes=4)
    slow = link.mesh_frequencies[:6]
    # some slow modes are those of the fin alone; those of the bar are exact
    found = np.abs(link.frequencies[:, None] / slow - 1).min(axis=0) < 1e-6
    assert found.sum() >= 2


def test_the_order_of_elimination_has_small_factors_and_the_same_solution():
    block = box_mesh((0.1, 0.1, 0.1), (5, 5, 5))
    parts = elimination_parts(block)
    numbers, counts = np.unique(parts[:, 0], return_counts=True)
    assert np.array_equal(numbers, np.arange(len(numbers)))
    assert all(
        np.array_equal(np.sort(parts[parts[:, 0] == k, 1]), np.arange(count))
        for k, count in enumerate(counts)
    )
    K, _ = assemble(block, MATERIAL)
    root, tip = ends(block, 0.1)
    plain = RigidSupport(freedoms_of(block.nodes), K, root, [tip])
    ordered = RigidSupport(freedoms_of(block.nodes), K, root, [tip], parts)
    u, v = plain.solve(plain.loads(tip)), ordered.solve(plain.loads(tip))
    np.testing.assert_allclose(u, v, atol=1e-9 * np.abs(u).max())
    free = np.flatnonzero(np.repeat(block.nodes[:, 0] > 1e-9, 3))
    order = free[np.lexsort(np.repeat(parts, 3, axis=0)[free].T[::-1])]
    sizes = []
    for rows in (free, order):
        matrix = K[rows][:, rows].tocsc()
        options = {'permc_spec': 'NATURAL', 'diag_pivot_thresh': 0.0}
        sizes.append(splu(matrix, options={'SymmetricMode': True}, **options).nnz)
    assert sizes[1] < 0.6 * sizes[0]


def test_fronts_solve_as_the_whole_matrix_does():
    rng = np.random.default_rng(3)
    for size, count in ((1, 1), (40, 7), (200, 30), (60, 60)):
        coupling = rng.normal(size=(size, size)) * (rng.random((size, size)) < 3.0 / size)
        matrix = sparse.csc_matrix(coupling @ coupling.T + 0.1 * np.eye(size))
        forces = rng.normal(size=(size, 3))
        parts = np.stack([rng.integers(count, size=size), rng.permutation(size)], axis=1)
        found = MultifrontalFactor(matrix, parts).solve(forces)
        expected = np.linalg.solve(matrix.toarray(), forces)
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
    matrix[3, 3] = -1.0
    with pytest.raises(SingularMatrix):
        MultifrontalFactor(matrix, parts)
