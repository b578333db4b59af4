"""Arms with reduced links from files, against spatial beams with the same fields."""

import numpy as np
import pytest
from reduced_bar import BEAM as BEAM_BAR
from reduced_bar import bar_robot, write_bar
from spatial_arms import MATERIAL, mass_of

import flex_robot_sim as frs
from flex_robot_sim.reduction.reduced_file import write_reduced
from flex_robot_sim.reduction.reduced_link import ReducedLink

CURVE = '0 0 0  0.25 0.02 0  0.42 0.12 0.03  0.5 0.3 0.1'
BEAM = (
    f'<axis points="{CURVE}"/><rectangle width="0.02" height="0.01"/>{MATERIAL}<modes count="7"/>'
)
PAIRS = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))


def robot(inside, extra=''):
    return f"""<robot name="reduced"><link name="base"/>
{mass_of('hook', 1.5, '0.29 0.1 0.03', (0.02, 0.05, 0.06))}
{mass_of('tool', 0.5, '0.02 0.01 0.05', (0.001, 0.002, 0.0015))}
<joint name="shoulder" type="continuous"><parent link="base"/><child link="hook"/>
<axis xyz="0 0.6 0.8"/></joint>
<joint name="wrist" type="continuous"><parent link="hook"/><child link="tool"/>
<origin xyz="0.5 0.3 0.1" rpy="0.2 -0.3 0.5"/><axis xyz="0 1 0"/></joint>
<flexibility><link name="hook" end="0.5 0.3 0.1">{inside}{extra}</link></flexibility></robot>"""


def matrices(rows):
    out = np.empty((*rows.shape[:-1], 3, 3))
    out[(..., *PAIRS)] = out[(..., PAIRS[1], PAIRS[0])] = rows
    return out


def reduced_of(arm, cubic=None):
    """Return the ReducedLink with the fields of the spatial beam of an arm, in its link frame."""
    beam, axes = arm.beams[0], arm.description.beam('hook').axes
    one, tip, n = beam.integrals, beam.at_end, beam.size
    turned = {name: getattr(one, name) @ axes.T for name in ('S1', 'S2', 'h0', 'h1')}
    J0, first = one.inertia[:3, :3], one.inertia[:3, 3:]
    S0 = np.array([first[2, 1], first[0, 2], first[1, 0]])
    second = np.concatenate([tip.Q[..., :3] @ axes.T, tip.Q[..., 3:] @ axes.T], axis=-1)
    U = np.concatenate([tip.U[:, :3] @ axes.T, tip.U[:, 3:] @ axes.T], axis=1)
    return ReducedLink(
        link='hook',
        source='test',
        source_hash='',
        options='',
        mass=float(one.inertia[3, 3]),
        S0=axes @ S0,
        J0=axes @ J0 @ axes.T,
        J1=axes @ matrices(one.J1) @ axes.T,
        J2=axes @ matrices(one.J2) @ axes.T,
        **turned,
        E0=one.E0,
        X=one.X,
        G=one.G,
        K=beam.stiffness,
        C=np.zeros((n, n, n)) if cubic is None else cubic,
        frequencies=np.ones(n),
        mesh_frequencies=np.ones(1),
        other_frequencies=np.ones(1),
        station_names=('wrist',),
        station_points=(axes @ tip.p)[None],
        station_shapes=U.T[None].copy(),
        station_second=second[None],
        surface_points=np.zeros((0, 3), np.float32),
        surface_triangles=np.zeros((0, 3), np.int32),
        surface_shapes=np.zeros((0, 3, n), np.float32),
        surface_strains=np.zeros((0, 6, n), np.float32),
    )


@pytest.fixture(scope='module')
def arms(tmp_path_factory):
    """Arm with a spatial beam, and the folder of the arm with the same fields from a file."""
    folder = tmp_path_factory.mktemp('robot')
    beam = frs.load(robot(BEAM))
    write_reduced(folder / 'hook.npz', reduced_of(beam))
    (folder / 'arm.urdf').write_text(robot('<reduced file="hook.npz"/>'))
    return beam, folder


def test_accelerations_are_those_of_the_beam_with_these_fields(arms):
    beam, reduced = arms[0], frs.load(arms[1] / 'arm.urdf')
    rng = np.random.default_rng(2)
    q, v = 0.03 * rng.normal(size=beam.nq), rng.normal(size=beam.nq)
    expected, found = (frs.forward_dynamics(arm, q, v, [0.3, -0.1]) for arm in (beam, reduced))
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    place, expected = frs.pose(reduced, q), frs.pose(beam, q)
    assert np.abs(place - expected).max() < 1e-12


def test_statics_modes_and_a_simulation_are_those_of_the_beam(arms):
    beam, reduced = arms[0], frs.load(arms[1] / 'arm.urdf')
    rest = [frs.equilibrium(arm, [0.3, 0.2]) for arm in (beam, reduced)]
    assert np.abs(rest[1].q - rest[0].q).max() < 1e-10
    rates = [frs.modes(arm, one.q).frequencies for arm, one in zip((beam, reduced), rest)]
    assert rates[1] == pytest.approx(rates[0], rel=1e-7)
    for arm in (beam, reduced):
        sim = frs.Simulation(arm)
        sim.advance_to(0.05)
        rates.append(sim.position.copy())
    assert np.abs(rates[3] - rates[2]).max() < 1e-10


def test_the_cubic_strain_energy_has_its_force_and_slopes(arms, tmp_path):
    beam = arms[0]
    rng, n = np.random.default_rng(4), beam.beams[0].size
    scale = np.sqrt(np.diag(beam.beams[0].stiffness))
    C = rng.normal(size=(n, n, n)) * np.einsum('i,j,k->ijk', scale, scale, scale)
    C = sum(C.transpose(order) for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0),
                                             (2, 0, 1), (2, 1, 0)))  # fmt: skip
    write_reduced(tmp_path / 'hook.npz', reduced_of(beam, C))
    (tmp_path / 'arm.urdf').write_text(robot('<reduced file="hook.npz" stiffness_scale="1.3"/>'))
    arm = frs.load(tmp_path / 'arm.urdf', gravity=(0, 0, 0))
    q = np.zeros(arm.nq)
    q[arm.elastic_q] = e = 0.1 * rng.normal(size=n) / scale
    force = frs.inverse_dynamics(arm, q, np.zeros(arm.nq), np.zeros(arm.nq))[arm.elastic_q]
    expected = 1.3 * (beam.beams[0].stiffness @ e + np.einsum('ijk,j,k->i', C, e, e))
    assert np.abs(force - expected).max() < 1e-12 * np.abs(expected).max()
    K = frs.inverse_dynamics_derivatives(arm, q).dtau_dq[arm.elastic_q, arm.elastic_q]
    expected = 1.3 * (beam.beams[0].stiffness + 2 * np.einsum('ijk,k->ij', C, e))
    assert np.abs(K - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_bar_of_finite_elements_swings_as_a_beam(tmp_path):
    paths, rates = [], []
    for arm in (frs.load(write_bar(tmp_path)), frs.load(bar_robot(BEAM_BAR))):
        rest = frs.equilibrium(arm, [0.4])
        rates.append(frs.modes(arm, rest.q).frequencies[:4])
        sim = frs.Simulation(arm)
        path = []
        while sim.time < 0.6:
            sim.step(20)
            path.append(sim.pose('tool')[:3, 3])
        paths.append(np.array(path))
    assert rates[0] == pytest.approx(rates[1], rel=0.01)
    travel = np.linalg.norm(np.ptp(paths[1], axis=0))
    assert np.linalg.norm(paths[0] - paths[1], axis=1).max() < 1e-3 * travel
