"""Stiffness and mass of quadratic tetrahedra, against scikit-fem and closed forms."""

import numpy as np
import pytest
from box_meshes import box_mesh

from flex_robot_sim.reduction.elasticity import (
    Material,
    Mesh,
    assemble,
    fourteen_points,
    shape_functions,
)

STEEL = Material(2.1e11, 0.3, 7850.0)


def bulged(mesh):
    """Return the mesh with curved edges."""
    x, y, z = mesh.nodes.T
    return Mesh(mesh.nodes + 0.05 * np.stack([y * z, np.sin(3 * x), x * y], 1), mesh.elements)


@pytest.fixture(scope='module')
def curved():
    return bulged(box_mesh((1.0, 0.6, 0.4), (2, 2, 1)))


def test_matrices_of_curved_elements_are_those_of_scikit_fem(curved):
    skfem = pytest.importorskip('skfem')
    from skfem.helpers import ddot, dot, eye, sym_grad, trace

    # its edges: 01, 12, 02, 03, 13, 23, as ours
    mesh = skfem.MeshTet2(curved.nodes.T.copy(), curved.elements.T.copy(), sort_t=False)
    element = skfem.ElementVector(skfem.ElementTetP2())
    lame, mu = STEEL.lame

    @skfem.BilinearForm
    def stiffness(u, v, _):
        strain = sym_grad(u)
        return ddot(lame * eye(trace(strain), 3) + 2 * mu * strain, sym_grad(v))

    @skfem.BilinearForm
    def mass(u, v, _):
        return STEEL.density * dot(u, v)

    K, m = assemble(curved, STEEL)
    basis = skfem.Basis(mesh, element, intorder=2)
    place = np.empty(basis.N, int)  # our degree of freedom of each of scikit-fem
    for axis in range(3):
        for row in range(10):
            place[basis.element_dofs[3 * row + axis]] = 3 * curved.elements[:, row] + axis
    theirs = stiffness.assemble(basis).toarray()
    ours = K.toarray()[np.ix_(place, place)]
    assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()
    theirs = mass.assemble(skfem.Basis(mesh, element, intorder=7)).toarray()
    ours = np.kron(m.toarray(), np.eye(3))[np.ix_(place, place)]
    # shapes of degree 4 times a Jacobian of degree 3: ours are exact up to degree 5
    assert np.abs(ours - theirs).max() < 1e-4 * np.abs(theirs).max()


def test_rigid_motions_and_uniform_strain_have_exact_energies():
    mesh = box_mesh((1.0, 0.6, 0.4), (2, 1, 1))
    K, m = assemble(mesh, STEEL)
    x, y, z = mesh.nodes.T
    turn = np.stack([-y, x, 0 * z], 1).ravel()
    assert np.abs(K @ turn).max() < 1e-12 * np.abs(K).max()
    volume, (lame, mu) = 0.24, STEEL.lame
    stretch = np.stack([x, 0 * y, 0 * z], 1).ravel()
    assert stretch @ K @ stretch == pytest.approx(volume * (lame + 2 * mu), rel=1e-13)
    shear = np.stack([y, x, 0 * z], 1).ravel()
    assert shear @ K @ shear == pytest.approx(4 * volume * mu, rel=1e-13)
    mass = STEEL.density * volume
    assert m.sum() == pytest.approx(mass, rel=1e-13)
    assert x @ m @ x == pytest.approx(mass / 3, rel=1e-13)
    # x^2 is a quadratic function, whose square the mass matrix integrates exactly
    assert (x * x) @ m @ (x * x) == pytest.approx(mass / 5, rel=1e-13)


def test_fourteen_points_integrate_polynomials_of_degree_five():
    points, weights = fourteen_points()
    x, y, z = points[:, 1:].T
    # int x^a y^b z^c = a! b! c! / (a + b + c + 3)!
    assert weights @ (x**3 * y * z) == pytest.approx(6 / 40320, rel=1e-12)
    assert weights @ x**5 == pytest.approx(120 / 40320, rel=1e-12)
    assert np.allclose(shape_functions(points).sum(axis=1), 1.0, atol=1e-14)
