"""Matrices of other programs: those of CalculiX are ours, and each format gives the same link."""

import shutil
import subprocess

import numpy as np
import pytest
from box_meshes import box_mesh
from calculix_inputs import mesh_text, storage_text, triangle, write_calculix
from scipy import sparse
from scipy.io import mmwrite

from flex_robot_sim.elastic.eigenmodes import bending_roots
from flex_robot_sim.reduction.elasticity import (
    Material,
    assemble,
    four_points,
    jacobians,
    shape_functions,
)
from flex_robot_sim.reduction.interface_search import JointFrame
from flex_robot_sim.reduction.matrices.calculix import read_calculix
from flex_robot_sim.reduction.matrices.nastran import read_op4
from flex_robot_sim.reduction.reduce_file import LinkFrame, Options, reduce_file, reduce_matrices
from flex_robot_sim.reduction.supports import ReductionError

MATERIAL = Material(7e10, 0.3, 2700.0)
Z = np.array([0.0, 0.0, 1.0])
JOINTS = [JointFrame('root', np.zeros(3), Z), JointFrame('tip', np.array([0.4, 0, 0]), Z)]
FRAME = LinkFrame('upper', JOINTS)
OPTIONS = Options(modes=4)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


@pytest.fixture(scope='module')
def bar():
    return box_mesh((0.4, 0.03, 0.02), (4, 1, 1), (0.0, -0.015, -0.01))


@pytest.fixture(scope='module')
def full(bar):
    K, m = assemble(bar, MATERIAL)
    return K, sparse.kron(m, np.eye(3)).tocsr()


def write_abaqus(folder, full, per_node=3):
    for name, matrix in zip(('stif.mtx', 'mass.mtx'), full):
        lower = triangle(matrix).T
        rows = zip(lower.row, lower.col, lower.data)
        (folder / name).write_text(
            ''.join(
                f'{i // per_node + 1},{i % per_node + 1}, {j // per_node + 1},{j % per_node + 1}, '
                f'{v:.16e}\n'
                for i, j, v in rows
            )
        )
    return [folder / 'stif.mtx', folder / 'mass.mtx']


def write_ansys(folder, full):
    """Write the degrees of freedom in the opposite order, as a solver may number them."""
    count = full[0].shape[0]
    order = np.arange(count)[::-1]
    for name, matrix in zip(('k.mmf', 'm.mmf'), full):
        with open(folder / name, 'wb') as file:
            mmwrite(file, matrix[order][:, order].tocoo(), symmetry='symmetric', precision=17)
    words = ('UX', 'UY', 'UZ')
    lines = [f'{row + 1:8} {i // 3 + 1:8} {words[i % 3]}\n' for row, i in enumerate(order)]
    (folder / 'file.mapping').write_text('  Matrix Eqn   Node   DOF\n' + ''.join(lines))
    return [folder / name for name in ('k.mmf', 'm.mmf', 'file.mapping')]


def write_nastran(folder, full):
    """Write six degrees of freedom of each node, in dense columns and in strings."""
    count = full[0].shape[0] // 3
    place = (6 * np.arange(count)[:, None] + np.arange(3)).ravel()
    text = ''
    for name, matrix in zip(('KGG', 'MGG'), full):
        wide = np.zeros((6 * count, 6 * count))
        wide[np.ix_(place, place)] = matrix.toarray()
        is_dense = name == 'KGG'
        text += f'{6 * count:8}{6 * count:8}{6:8}{2:8}{name:8}1P,3E23.16\n'
        for column in range(6 * count):
            used = np.flatnonzero(wide[column])
            if not len(used):
                continue
            values = wide[column, used[0] : used[-1] + 1]
            if is_dense:
                text += f'{column + 1:8}{used[0] + 1:8}{2 * len(values):8}\n'
            else:
                words = 2 * len(values)
                text += f'{column + 1:8}{0:8}{words + 1:8}\n'
                text += f'{65536 * (words + 1) + used[0] + 1:12}\n'
            text += ''.join(
                ''.join(f'{v:23.16E}' for v in values[i : i + 3]) + '\n'
                for i in range(0, len(values), 3)
            )
        text += f'{6 * count + 1:8}{1:8}{1:8}\n{1.0:23.16E}\n'
    (folder / 'run.op4').write_text(text)
    return [folder / 'run.op4']


@pytest.fixture(scope='module')
def expected(bar, tmp_path_factory):
    """Return the link of the mesh."""
    pytest.importorskip('meshio')
    path = tmp_path_factory.mktemp('mesh') / 'bar.inp'
    path.write_text(mesh_text(bar))
    return reduce_file(path, FRAME, MATERIAL, OPTIONS).link


@pytest.mark.parametrize('write', [write_calculix, write_abaqus, write_ansys, write_nastran])
def test_matrices_of_each_format_give_the_link_of_the_mesh(tmp_path, bar, full, expected, write):
    paths, nodes = write(tmp_path, full), tmp_path / 'bar.inp'
    nodes.write_text(mesh_text(bar))
    link = reduce_matrices(paths, nodes, FRAME, MATERIAL, OPTIONS).link
    assert link.mass == pytest.approx(expected.mass, rel=1e-9)
    for name in ('frequencies', 'other_frequencies', 'S0', 'J0'):
        np.testing.assert_allclose(getattr(link, name), getattr(expected, name), 1e-6, 1e-12)
    # signs of the shapes may differ
    np.testing.assert_allclose(np.diag(link.K), np.diag(expected.K), rtol=1e-6)
    assert link.soft == expected.soft
    largest = np.abs(expected.station_second).max()
    np.testing.assert_allclose(
        np.abs(link.station_second), np.abs(expected.station_second), atol=1e-6 * largest
    )


def test_units_of_millimetres_and_another_frame_are_converted(tmp_path, bar, full, expected):
    """Matrices in N/mm and t of a model that lies along -y, 7 mm above the link."""
    turn = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    change = sparse.kron(np.eye(len(bar.nodes)), turn)
    paths = write_calculix(tmp_path, [change @ part @ change.T / 1e3 for part in full])
    points = (bar.nodes @ turn.T + [0, 0, 0.007]) * 1e3
    (tmp_path / 'bar.inp').write_text(mesh_text(bar._replace(nodes=points)))
    pose = (*turn.T.ravel().tolist(), 0.0, 0.0, -0.007)
    options = OPTIONS._replace(unit='mm', pose=pose)
    link = reduce_matrices(paths, tmp_path / 'bar.inp', FRAME, MATERIAL, options).link
    np.testing.assert_allclose(link.frequencies, expected.frequencies, rtol=1e-6)
    np.testing.assert_allclose(link.S0, expected.S0, atol=1e-9)


@pytest.mark.skipif(shutil.which('ccx') is None, reason='CalculiX is not installed')
def test_matrices_of_calculix_are_those_of_our_elements(tmp_path, bar, full):
    (tmp_path / 'run.inp').write_text(storage_text(bar, MATERIAL))
    subprocess.run(['ccx', 'run'], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    paths = [tmp_path / f'run.{kind}' for kind in ('sti', 'mas', 'dof')]
    matrices = read_calculix(*paths)
    order = np.lexsort((matrices.direction, matrices.node))
    stiffness, mass = (
        part[order][:, order].toarray() for part in (matrices.stiffness, matrices.mass)
    )
    assert np.abs(stiffness - full[0].toarray()).max() < 1e-9 * np.abs(stiffness).max()
    # it integrates the mass with four points, too, which makes corners lighter
    points, weights = four_points()
    values = shape_functions(points)
    volumes = np.abs(np.linalg.det(jacobians(bar, bar.elements, points))) * weights
    by_element = np.einsum('kg,ga,gb->kab', MATERIAL.density * volumes, values, values)
    by_node = np.zeros((len(bar.nodes),) * 2)
    rows = bar.elements[:, :, None], bar.elements[:, None, :]
    np.add.at(by_node, rows, by_element)
    assert np.abs(mass - np.kron(by_node, np.eye(3))).max() < 1e-9 * mass.max()
    link = reduce_matrices(paths, tmp_path / 'run.inp', FRAME, MATERIAL, OPTIONS).link
    assert link.soft >= 2


def frame_elements(count, length, E, side, density):
    """Stiffness and mass of a beam along x with six degrees of freedom by node (Euler)."""
    h, A, I = length / count, side**2, side**4 / 12
    size = 6 * (count + 1)
    K, M = np.zeros((2, size, size))
    bending = E * I / h**3 * np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]
    )  # fmt: skip
    inertia = density * A * h / 420 * np.array(
        [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
         [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]
    )  # fmt: skip
    sign = np.array([1, -1, 1, -1])
    bar, rod = np.array([[1, -1], [-1, 1]]), np.array([[2, 1], [1, 2]]) / 6
    for i in range(count):
        a, b = 6 * i, 6 * i + 6
        for rows, signs in (
            ([a + 1, a + 5, b + 1, b + 5], 1),
            ([a + 2, a + 4, b + 2, b + 4], sign),
        ):
            K[np.ix_(rows, rows)] += bending * np.outer(signs, signs)
            M[np.ix_(rows, rows)] += inertia * np.outer(signs, signs)
        for rows, stiffness, mass in (
            ([a, b], E * A / h, density * A * h),
            ([a + 3, b + 3], E / 2 * 2 * I * 0.85 / h, 2 * density * I * h),
        ):
            K[np.ix_(rows, rows)] += stiffness * bar
            M[np.ix_(rows, rows)] += mass * rod
    return sparse.csr_matrix(K), sparse.csr_matrix(M)


def test_nodes_of_beams_that_rotate_give_the_frequencies_of_a_cantilever(tmp_path):
    E, side, density = 7e10, 0.01, 2700.0
    paths = write_abaqus(tmp_path, frame_elements(10, 0.4, E, side, density), 6)
    nodes = tmp_path / 'nodes.csv'
    nodes.write_text(
        'node, x, y, z\n' + ''.join(f'{i + 1}, {0.04 * i}, 0, 0\n' for i in range(11))
    )
    options = OPTIONS._replace(radius=0.001, depth=0.001)
    result = reduce_matrices(paths, nodes, FRAME, None, options)
    roots, _ = bending_roots(2)
    expected = roots**2 / (2 * np.pi * 0.16) * np.sqrt(E * side**2 / 12 / density)
    assert result.link.frequencies[:4] == pytest.approx(np.repeat(expected, 2), rel=1e-4)
    assert result.link.soft == 0 and result.link.mass == pytest.approx(0.108, rel=1e-3)
    assert result.notes == [
        'without tetrahedra (C3D10 in --nodes, and --material) or --loaded the link has no terms '
        'of second order: use it at small deflections and low speeds'
    ]
    with pytest.raises(ReductionError, match='no tetrahedra on whose surface'):
        reduce_matrices(paths, nodes, FRAME, None, OPTIONS)


def test_strings_of_large_matrices_and_complex_ones_are_read(tmp_path):
    """A column in two strings, as OUTPUT4 writes matrices of more than 65535 rows."""
    path = tmp_path / 'two.op4'
    path.write_text(
        '       2      -9       2       1BIG     1P,3E23.16\n'
        '       2       0       9\n       5       1\n'
        ' 1.0000000000000000E+00-2.0000000000000000E+00 3.0000000000000000E+00\n'
        ' 4.0000000000000000E+00\n       2       8\n 5.0000000000000000D+00\n'
        '       3       1       1\n 1.0000000000000000E+00\n'
        '       1      -1       2       4COMPLEX 1P,3E22.15\n'
        '       1       0       6\n       5       1\n'
        ' 1.000000000000000E+00 1.000000000000000E+00\n'
        '       2       1       1\n 1.000000000000000E+00\n'
    )
    matrices = read_op4(path)
    assert list(matrices) == ['BIG']
    expected = np.zeros((9, 2))
    expected[[0, 1, 2, 3, 7], 1] = 1, -2, 3, 4, 5
    assert np.array_equal(matrices['BIG'].toarray(), expected)


NODE = '*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D10\n'


@pytest.mark.parametrize(
    'name, text, line',
    [
        ('run.sti', '1 1 x\n', 'run.sti: lines of 3 numbers are due'),
        ('run.sti', '1 1 0\n', 'run.sti: the matrix is zero or not finite'),
        ('run.sti', '1 1 1.0\n400 400 1.0\n', 'it has 400 rows, and the .dof file 243'),
        ('run.sti', '1 2 1.0\n2 1 3.0\n', 'run.sti: the matrix is not symmetric'),
        ('run.dof', 'nothing\n', 'run.dof: it has no lines of the form node.direction'),
        ('bar.inp', '*NODE\n1, 0, 0\n', 'bar.inp:2: no node: "1, 0, 0"'),
        ('bar.inp', '*NODE\n1, 0, 0, 0\n', 'bar.inp: it has no node 2, which the matrices have'),
        ('bar.inp', '*NODE\n1,0,0,0\n1,0,0,0\n', 'bar.inp: two nodes have the number 1'),
        ('bar.inp', '*STEP\n', 'bar.inp: it has no nodes'),
        ('bar.inp', NODE + '1, x\n', 'bar.inp:4: no element: "1, x"'),
        ('bar.inp', NODE + '1, 2\n', 'bar.inp: its elements have 2 numbers, which are not 11'),
    ],
)
def test_wrong_matrix_files_are_refused_in_one_line(tmp_path, bar, full, name, text, line):
    paths, nodes = write_calculix(tmp_path, full), tmp_path / 'bar.inp'
    nodes.write_text(mesh_text(bar))
    (tmp_path / name).write_text(text)
    with pytest.raises(ReductionError) as caught:
        reduce_matrices(paths, nodes, FRAME, MATERIAL, OPTIONS)
    assert line in str(caught.value) and '\n' not in str(caught.value)


@pytest.mark.parametrize(
    'text, line',
    [
        ('', 'it is no Matrix Market file'),
        ('%%MatrixMarket matrix array real general\n', 'it is no Matrix Market file'),
        ('3 3 2\n1 1 1.0\n', 'its size line does not fit to its 1 entries'),
        ('3 3 1\n1 4 1.0\n', 'its size line does not fit to its 1 entries'),
        ('3 3 1\n1 1.0\n', 'm.mmf: '),
    ],
)
def test_damaged_matrix_market_files_are_refused_in_one_line(tmp_path, bar, full, text, line):
    paths, nodes = write_ansys(tmp_path, full), tmp_path / 'bar.inp'
    nodes.write_text(mesh_text(bar))
    head = '%%MatrixMarket matrix coordinate real symmetric\n%\n' if text[:1].isdigit() else ''
    (tmp_path / 'm.mmf').write_text(head + text)
    with pytest.raises(ReductionError) as caught:
        reduce_matrices(paths, nodes, FRAME, MATERIAL, OPTIONS)
    assert line in str(caught.value) and '\n' not in str(caught.value)


def test_other_kinds_and_held_roots_are_refused(tmp_path, bar, full):
    paths, nodes = write_calculix(tmp_path, full), tmp_path / 'bar.inp'
    nodes.write_text(mesh_text(bar))
    with pytest.raises(ReductionError, match='matrix files are run.sti,run.mas,run.dof'):
        reduce_matrices(paths[:2], nodes, FRAME, MATERIAL, OPTIONS)
    free = np.flatnonzero(np.repeat(bar.nodes[:, 0] > 1e-9, 3))
    held = [part[free][:, free] for part in full]
    write_calculix(tmp_path, held)
    numbers = np.flatnonzero(bar.nodes[:, 0] > 1e-9) + 1
    lines = ''.join(f'{n}.{d}\n' for n in numbers for d in (1, 2, 3))
    (tmp_path / 'run.dof').write_text(lines)
    with pytest.raises(ReductionError, match='"root" at 0, 0, 0 m has no nodes'):
        options = OPTIONS._replace(radius=0.04, depth=0.001)
        reduce_matrices(paths, nodes, FRAME, MATERIAL, options)
