"""Terms of second order from stiffness matrices under loads, against those of the elements."""

import shutil
import subprocess

import numpy as np
import pytest
from box_meshes import box_mesh
from calculix_inputs import loaded_text, mesh_text, write_calculix
from scipy import sparse

from flex_robot_sim.reduction.elasticity import Material, assemble
from flex_robot_sim.reduction.freedoms import freedoms_of
from flex_robot_sim.reduction.interface_search import JointFrame
from flex_robot_sim.reduction.loaded_stiffness import LinkLoad, LoadedStiffness
from flex_robot_sim.reduction.reduce_file import LinkFrame, Options, reduce_matrices
from flex_robot_sim.reduction.reduce_model import model_of, reduce_model
from flex_robot_sim.reduction.second_order import second_order_forces
from flex_robot_sim.reduction.supports import Interface, ReductionError, RigidSupport

MATERIAL = Material(7e10, 0.3, 2700.0)
LENGTH = 0.4
TIP = np.array([LENGTH, 0.0, 0.0])
WRENCHES = np.diag([1e3, 2.0, 2.0, 1.0, 1.0, 1.0])  # force, moment [N, N m]
Z = np.array([0.0, 0.0, 1.0])
FRAME = LinkFrame('bar', [JointFrame('root', np.zeros(3), Z), JointFrame('tip', TIP, Z)])


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))


@pytest.fixture(scope='module')
def bar():
    return box_mesh((LENGTH, 0.03, 0.02), (4, 1, 1), (0.0, -0.015, -0.01))


@pytest.fixture(scope='module')
def interfaces(bar):
    ends = [np.flatnonzero(np.abs(bar.nodes[:, 0] - x) < 1e-9) for x in (0.0, LENGTH)]
    return [Interface('root', np.zeros(3), ends[0]), Interface('tip', TIP, ends[1])]


@pytest.fixture(scope='module')
def loaded(bar, interfaces):
    """Return the tangents K + 2 f2(u, .) of the elements under each wrench."""
    K, _ = assemble(bar, MATERIAL)
    support = RigidSupport(freedoms_of(bar.nodes), K, interfaces[0], interfaces[1:])
    loads = support.loads(interfaces[1])
    out, size = [], K.shape[0]
    for wrench in WRENCHES:
        u = support.solve(loads @ np.concatenate([wrench[3:], wrench[:3]])[:, None])
        shapes = np.hstack([u, np.eye(size)])
        pairs = [(0, k + 1) for k in range(size)]
        change = 2.0 * second_order_forces(bar, MATERIAL, shapes, pairs)
        out.append(
            LoadedStiffness('k.sti', LinkLoad('tip', tuple(wrench)), sparse.csr_matrix(K + change))
        )
    return out


def total_motion(link):
    """Second derivatives (s, s, 6) of the motion of the tip, where soft shapes follow their C."""
    s, stiffness = link.soft, np.diag(link.K)
    followed = np.einsum('ak,kij->ija', link.station_shapes[0, :, :s] / stiffness[:s], link.C)
    return link.station_second[0] - 2.0 * followed


def test_loads_give_the_terms_of_the_elements(bar, interfaces, loaded):
    model = model_of(bar, MATERIAL)
    expected = reduce_model(model, interfaces, modes=4)
    found = reduce_model(model._replace(mesh=None, loaded=loaded), interfaces, modes=4)
    assert found.soft == expected.soft >= 4
    assert (
        np.abs(total_motion(found) - total_motion(expected)).max()
        < 1e-6 * np.abs(total_motion(expected)).max()
    )
    # of the first shapes, the loads leave little
    for name in ('C', 'S2', 'X'):
        theirs, ours = (getattr(one, name)[:2, :2] for one in (expected, found))
        assert np.abs(ours - theirs).max() < 0.01 * np.abs(theirs).max(), name


def test_a_load_along_the_link_gives_its_shortening(bar, interfaces, loaded):
    model = model_of(bar, MATERIAL)
    expected = total_motion(reduce_model(model, interfaces, modes=4))[:, :, 3]
    link = reduce_model(model._replace(mesh=None, loaded=loaded[:1]), interfaces, modes=4)
    found = total_motion(link)[:, :, 3]
    assert np.diag(found)[:4].max() < 0.0
    size = min(len(found), len(expected))
    assert size >= 4
    difference = found[:size, :size] - expected[:size, :size]
    assert np.abs(difference).max() < 1e-6 * np.abs(expected).max()


def test_loads_that_cannot_be_used_are_refused_in_one_line(bar, interfaces, loaded):
    model = model_of(bar, MATERIAL)._replace(mesh=None)

    def refusal(*rows):
        with pytest.raises(ReductionError) as caught:
            reduce_model(model._replace(loaded=rows), interfaces, modes=4)
        return str(caught.value)

    first, across = loaded[:2]
    assert refusal(first._replace(stiffness=model.stiffness)).startswith(
        'k.sti: its load changes the stiffness by 0 of its largest entry, which must be 1e-09 to '
    )
    assert refusal(first._replace(load=LinkLoad('elbow', (1.0,) * 6))) == (
        'k.sti: no child joint "elbow" takes its load. Joints that do: tip'
    )
    heavy = LinkLoad('tip', (0.0, 1e4, 0.0, 0.0, 0.0, 0.0))
    assert 'more than 0.02 of its size. Choose a smaller one' in refusal(
        across._replace(load=heavy)
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which('ccx') is None, reason='CalculiX is not installed')
def test_tangents_of_calculix_give_the_terms_of_the_elements(tmp_path, bar, interfaces):
    K, mass = assemble(bar, MATERIAL)
    paths = write_calculix(tmp_path, [K, sparse.kron(mass, np.eye(3)).tocsr()])
    (tmp_path / 'bar.inp').write_text(mesh_text(bar))
    support = RigidSupport(freedoms_of(bar.nodes), K, interfaces[0], interfaces[1:])
    B, loads = support.loads(interfaces[1]), []
    # both directions, so that the effect of the size of a load cancels
    for k, wrench in enumerate(np.vstack([WRENCHES, -WRENCHES])):
        # nodal forces of a rigid tip
        u = support.solve(B @ np.concatenate([wrench[3:], wrench[:3]])[:, None])
        forces = (K @ u).reshape(-1, 3)
        forces[interfaces[0].nodes] = 0.0
        (tmp_path / f'load{k}.inp').write_text(
            loaded_text(bar, MATERIAL, interfaces[0].nodes, forces)
        )
        command = ['ccx', f'load{k}']
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
        loads.append((tmp_path / f'load{k}.sti', LinkLoad('tip', tuple(wrench))))
    options = Options(modes=4, radius=0.016, depth=0.02)
    nodes = tmp_path / 'bar.inp'
    found = reduce_matrices(paths, nodes, FRAME, None, options, loads=loads)
    assert not found.notes
    expected = total_motion(reduce_matrices(paths, nodes, FRAME, MATERIAL, options).link)
    difference = total_motion(found.link)[:4, :4] - expected[:4, :4]
    assert np.abs(difference).max() < 1e-3 * np.abs(expected[:4, :4]).max()
    # the stiffness of another model
    (tmp_path / 'load0.sti').write_text('1 1 1.0\n')
    with pytest.raises(ReductionError, match=r'load0.sti: its load changes the stiffness by 1 of'):
        reduce_matrices(paths, nodes, FRAME, None, options, loads=loads[:1])
