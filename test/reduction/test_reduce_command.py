"""`flexsim reduce`: from a mesh file and a URDF to a reduced link; mistakes are one line."""

import json

import numpy as np
import pytest
from box_meshes import box_mesh
from calculix_inputs import mesh_text, write_calculix
from scipy import sparse

from flex_robot_sim.cli import main
from flex_robot_sim.reduction import result_cache
from flex_robot_sim.reduction.elasticity import Material, assemble
from flex_robot_sim.reduction.reduced_file import read_reduced

pytest.importorskip('meshio')
MASS = 2700 * 0.4 * 0.03 * 0.02
URDF = """<robot name="arm">
  <link name="base"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="MASS"/>
    <inertia ixx="1e-4" iyy="8.6e-3" izz="8.6e-3" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.4 0 0" rpy="0 0 3.141592653589793"/>
      <geometry><mesh filename="package://arm/upper.stl" scale="0.001 0.001 0.001"/></geometry>
    </visual></link>
  <joint name="elbow" type="revolute"><origin xyz="0.4 0 0"/><parent link="upper"/>
    <child link="tool"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
  <link name="tool"><inertial><mass value="0.2"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""


@pytest.fixture(scope='module')
def mesh():
    return box_mesh((0.4, 0.03, 0.02), (6, 1, 1), (0.0, -0.015, -0.01))


@pytest.fixture
def folder(tmp_path, monkeypatch, mesh):
    """Return a folder with a robot and the mesh of its link in millimetres, an own cache."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'arm.urdf').write_text(URDF.replace('MASS', f'{MASS:.6f}'))
    (tmp_path / 'bar.inp').write_text(mesh_text(mesh))
    turned = mesh._replace(nodes=(np.array([0.4, 0, 0]) - mesh.nodes * [1, 1, -1]) * 1e3)
    (tmp_path / 'upper.inp').write_text(mesh_text(turned))
    return tmp_path


def reduce(*words, file='bar.inp', link='upper', material='7e10,0,2700'):
    words = ['reduce', file, '--robot', 'arm.urdf', '--link', link, '--material', material, *words]
    return main(words)


def test_a_mesh_becomes_a_link_and_comes_from_the_cache_again(folder, capsys):
    assert reduce('--json', '--picture', 'faces.png') == 0
    first = json.loads(capsys.readouterr().out)
    assert not first['is_cached'] and first['coordinates'] == 12
    assert first['interfaces'][1].startswith('elbow: flat face, 9 nodes within 0.015 m')
    assert first['frequencies'][0] == pytest.approx(
        1.8751**2 / (2 * np.pi) * np.sqrt(7e10 / 2700 * 0.02**2 / 12) / 0.4**2, rel=0.02
    )
    link = read_reduced('upper.reduced.npz', 'upper')
    assert link.mass == pytest.approx(MASS, rel=1e-6) and link.station_names == ('elbow',)
    assert (folder / 'faces.png').stat().st_size > 10_000
    assert reduce('--json', '--force') == 0
    again = json.loads(capsys.readouterr().out)
    assert again['is_cached'] and again['frequencies'] == first['frequencies']
    assert reduce('--force', '--modes', '4') == 0
    text = capsys.readouterr().out
    assert text.startswith('upper: upper.reduced.npz\n  mesh: 117 nodes, 36 elements, mass 0.648')
    assert '<origin xyz="0.2 ' in text and f'<mass value="{MASS:.6g}"/><inertia ixx="' in text
    assert first['inertia'][2][2] == pytest.approx(MASS * (0.4**2 + 0.03**2) / 12, rel=1e-6)
    assert '10 coordinates' in text and 'interfaces of the other kind' in text


def test_the_place_of_a_file_is_that_of_its_visual(folder, capsys):
    """The URDF turns the mesh "upper" by 180 degrees, and states millimetres."""
    assert reduce('--output', 'a.npz', '--modes', '2') == 0
    assert reduce('--output', 'b.npz', '--modes', '2', file='upper.inp') == 0
    a, b = read_reduced('a.npz'), read_reduced('b.npz')
    np.testing.assert_allclose(a.S0, b.S0, atol=1e-9)
    np.testing.assert_allclose(a.frequencies, b.frequencies, rtol=1e-6)
    pose = '--pose=0.4,0,0,0,0,3.141592653589793'
    assert reduce('--output', 'c.npz', '--modes', '2', pose, '--unit', 'mm', file='upper.inp') == 0
    np.testing.assert_allclose(read_reduced('c.npz').K, b.K, rtol=1e-6, atol=1e-6)


def test_mass_of_inertial_scales_the_density(folder, capsys):
    assert reduce('--modes', '2', material='7e10,0,3000') == 0
    assert (
        'note: the mass of the mesh is 0.72 kg, that of <inertial> 0.648'
        in capsys.readouterr().err
    )
    assert reduce('--modes', '2', '--mass', 'inertial', '--force', material='7e10,0,3000') == 0
    assert read_reduced('upper.reduced.npz').mass == pytest.approx(MASS, rel=1e-5)


def test_a_robot_may_name_the_file_before_it_exists(folder):
    text = (folder / 'arm.urdf').read_text()
    words = '<flexibility><link name="upper" end="0.4 0 0"><reduced file="new.npz"/></link>'
    (folder / 'arm.urdf').write_text(text.replace('</robot>', f'{words}</flexibility></robot>'))
    assert reduce('--modes', '2', '--output', 'new.npz') == 0


@pytest.mark.parametrize(
    'words, options, line',
    [
        ([], {'link': 'uper'}, 'arm has no link "uper". Did you mean "upper"?'),
        ([], {'file': 'none.step'}, 'none.step: there is no such file.'),
        ([], {'material': 'steal'}, '--material steal: write E,nu,density, for instance'),
        ([], {'material': '7e10,0.5,1'}, '--material 7e10,0.5,1: needs a modulus above 0'),
        ([], {'material': '7e10,0,9000'}, 'is 3.33 times that of <inertial>, 0.648 kg: the file'),
        (['--unit', 'mm', '--pose=0,0,0,0,0,0'], {}, 'the mesh measures 0.0004016 m, and the'),
        (['--pose', '1,2'], {}, '--pose needs six numbers'),
        (['--modes', '-1'], {}, '--modes must be between 0 and 100.'),
        (['--modes', '0'], {'link': 'tool'}, 'link "tool" has no child joint'),
        (['--radius', '0.001'], {}, 'interface "shoulder": its nodes (1) lie on one line'),
        (['--mesh', '-1'], {}, '--mesh must be above 0'),
        (['--output', 'nowhere/link.npz'], {}, 'nowhere/link.npz: cannot be written'),
        (['--picture', 'a.txt'], {}, 'a.txt'),
        (['--matrices', 'a.sti'], {}, 'bar.inp: give a file or --matrices.'),
        (['--loaded', 'a.sti:elbow:1,0,0,0,0,0'], {}, '--loaded needs --matrices.'),
        (['--loaded', 'a.sti:1,2'], {}, '--loaded a.sti:1,2: write FILE:JOINT:FX,FY,FZ,MX,MY,MZ'),
        ([], {'file': 'arm.urdf'}, 'arm.urdf: unknown kind of file. Known: .step'),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_file(folder, capsys, words, options, line):
    before = {path.name for path in folder.iterdir()}
    assert reduce(*words, **options) == 2
    captured = capsys.readouterr()
    assert line in captured.err and captured.err.count('\n') == 1 and not captured.out
    assert {path.name for path in folder.iterdir()} - before <= {'cache'}


def test_a_mesh_of_triangles_is_refused(folder, capsys):
    text = '*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n*ELEMENT, TYPE=S3\n1, 1, 2, 3\n'
    (folder / 'shell.inp').write_text(text)
    assert reduce(file='shell.inp') == 2
    assert (
        'shell.inp: it has no tetrahedra, but triangle. Mesh the solid' in capsys.readouterr().err
    )


def test_the_cache_keeps_a_limited_number_of_files(folder, monkeypatch):
    monkeypatch.setattr(result_cache, 'MAX_FILES', 3)
    for modes in '012':
        assert reduce('--modes', modes, '--force') == 0
    assert len(list(result_cache.cache_folder().iterdir())) == 3
    for path in result_cache.cache_folder().iterdir():
        path.write_bytes(b'damaged')
    assert reduce('--modes', '2', '--force') == 0


def test_matrices_need_their_nodes_and_are_reduced(folder, capsys, mesh):
    K, m = assemble(mesh, Material(7e10, 0.0, 2700.0))
    write_calculix(folder, [K, sparse.kron(m, np.eye(3))])
    words = ['reduce', '--robot', 'arm.urdf', '--link', 'upper', '--json']
    words += ['--matrices', 'run.sti,run.mas,run.dof']
    assert main(words) == 2
    assert '--matrices needs --nodes' in capsys.readouterr().err
    assert main([*words, '--nodes', 'bar.inp', '--material', '7e10,0,2700']) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['soft_coordinates'] >= 2 and result['mass'] == pytest.approx(MASS)
    assert main(['reduce', '--robot', 'arm.urdf', '--link', 'upper']) == 2
    assert 'name a STEP, STL or mesh file, or --matrices.' in capsys.readouterr().err
    assert main(['reduce', 'bar.inp', '--robot', 'arm.urdf', '--link', 'upper']) == 2
    assert '--material is needed' in capsys.readouterr().err
