"""Solids of STEP and STL files as tetrahedra, and files that are no solids."""

import struct

import numpy as np
import pytest
from box_meshes import box_mesh
from public_robots import public_robot

from flex_robot_sim.cli import main
from flex_robot_sim.reduction.elasticity import Material, assemble
from flex_robot_sim.reduction.meshing import mesh_solid
from flex_robot_sim.reduction.reduced_file import read_reduced
from flex_robot_sim.reduction.stl import check_solid, read_stl
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.reduction.surface import surface_of

SIZE = (0.1, 0.03, 0.02)


def box_triangles(size=SIZE, origin=(0.0, 0.0, 0.0)):
    mesh = box_mesh(size, (1, 1, 1), origin)
    surface = surface_of(mesh)
    return mesh.nodes[surface.nodes[surface.triangles]]


def binary(triangles):
    rows = [struct.pack('<12fH', 0, 0, 0, *corners.ravel(), 0) for corners in triangles]
    return b'solid'.ljust(80) + struct.pack('<I', len(rows)) + b''.join(rows)


def text(triangles):
    facets = ''.join(
        'facet normal 0 0 0\nouter loop\n'
        + ''.join(f'vertex {x:.9e} {y:.9e} {z:.9e}\n' for x, y, z in corners)
        + 'endloop\nendfacet\n'
        for corners in triangles
    )
    return f'solid box\n{facets}endsolid box\n'.encode()


@pytest.mark.parametrize('written', [binary, text])
def test_stl_files_of_both_kinds_are_read(tmp_path, written):
    path = tmp_path / 'box.stl'
    path.write_bytes(written(box_triangles()))
    surface = read_stl(path)
    assert surface.points.shape == (8, 3) and surface.triangles.shape == (12, 3)
    assert surface.volume == pytest.approx(np.prod(SIZE), rel=1e-6)
    check_solid(path, surface)


def test_leaks_shells_and_other_files_are_refused(tmp_path):
    path = tmp_path / 'box.stl'
    path.write_bytes(binary(box_triangles()[1:]))
    with pytest.raises(ReductionError, match='leaks: 3 of 18 edges do not join two triangles'):
        check_solid(path, read_stl(path))
    two = np.concatenate([box_triangles(), box_triangles(SIZE, (0.05, 0.01, 0.01))])
    path.write_bytes(binary(two))
    with pytest.raises(ReductionError, match='the surface has 2 shells, which may overlap'):
        check_solid(path, read_stl(path))
    mixed = box_triangles()
    mixed[0] = mixed[0, ::-1]
    path.write_bytes(binary(mixed))
    with pytest.raises(ReductionError, match='some triangles are turned inside out'):
        check_solid(path, read_stl(path))
    for content in (b'', b'solid', b'facet vertex 1 2', binary(box_triangles())[:-1], b'\0' * 84):
        path.write_bytes(content)
        with pytest.raises(ReductionError, match='this is no STL file, or it is damaged'):
            read_stl(path)


@pytest.mark.slow
@pytest.mark.parametrize('unit', [1.0, 1e-3])
def test_netgen_meshes_a_solid_of_an_stl_file(tmp_path, unit):
    """Netgen has tolerances for millimetres: a file in metres gave no element."""
    pytest.importorskip('netgen')
    path = tmp_path / 'box.stl'
    turned = box_triangles(np.divide(SIZE, unit))[:, ::-1]  # inside out as a whole
    path.write_bytes(text(turned))
    mesh = mesh_solid(path, 0.03, unit)
    _, mass = assemble(mesh, Material(7e10, 0.3, 2700.0))
    assert mass.sum() == pytest.approx(2700.0 * np.prod(SIZE), rel=1e-6)
    assert np.ptp(mesh.nodes, axis=0) == pytest.approx(SIZE, rel=1e-6)


@pytest.mark.long
def test_a_printed_link_of_a_public_robot_is_reduced(tmp_path, monkeypatch):
    pytest.importorskip('netgen')
    folder = public_robot('double_pendulum_description')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    monkeypatch.chdir(tmp_path)
    words = ['reduce', f'{folder}/meshes/link2.stl', '--link', 'link2', '--mesh', '0.01']
    words += ['--robot', f'{folder}/urdf/double_pendulum.urdf', '--material', '2.3e9,0.35,1240']
    assert main(words) == 0
    link = read_reduced('link2.reduced.npz', 'link2')
    assert 30 < link.frequencies[0] < 50 and link.mass == pytest.approx(0.0515, rel=0.02)


@pytest.mark.slow
def test_netgen_meshes_a_solid_of_a_step_file_in_metres(tmp_path):
    occ = pytest.importorskip('netgen.occ')
    path = tmp_path / 'rod.step'
    rod = occ.Cylinder(occ.Pnt(0, 0, 0), occ.X, r=10, h=100)
    rod.WriteStep(str(path))
    mesh = mesh_solid(path, 0.01)
    _, mass = assemble(mesh, Material(7e10, 0.3, 2700.0))
    # nodes on the edges lie on the cylinder
    assert mass.sum() == pytest.approx(2700.0 * np.pi * 0.01**2 * 0.1, rel=1e-3)


@pytest.mark.long
def test_step_files_without_one_solid_are_refused(tmp_path):
    occ = pytest.importorskip('netgen.occ')
    path = tmp_path / 'rod.step'
    rod = occ.Cylinder(occ.Pnt(0, 0, 0), occ.X, r=10, h=100)
    two = occ.Compound([rod, occ.Box((0, 50, 0), (10, 60, 10))])
    two.WriteStep(str(path))
    with pytest.raises(ReductionError, match='it has 2 solids. Unite them in the CAD program'):
        mesh_solid(path)
    rod.faces[0].WriteStep(str(path))
    with pytest.raises(ReductionError, match='it has surfaces and no solid'):
        mesh_solid(path)
    path.write_text('ISO-10303-21;')
    with pytest.raises(ReductionError, match='netgen made no mesh of it'):
        mesh_solid(path)
