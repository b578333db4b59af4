"""
Table of docs/architecture.md: which feature supports which kind of body, joint and row.

Each feature is tried on a small arm of each kind. `python docs/feature_table.py` writes the table,
and test/project/test_feature_table.py compares it with the page.
"""

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.feed_forward import make_feed_forward
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.display.description import display_description
from flex_robot_sim.environments.episodes import Episodes
from flex_robot_sim.reduction.elasticity import Material, Mesh, with_edge_nodes
from flex_robot_sim.reduction.reduce_mesh import reduce_mesh
from flex_robot_sim.reduction.reduced_file import write_reduced
from flex_robot_sim.reduction.supports import Interface
from flex_robot_sim.util.exceptions import FlexRobotSimError

PAGE = Path(__file__).with_name('architecture.md')
MARK = re.compile(r'(<!-- features -->\n).*?(<!-- end of features -->)', re.DOTALL)
FOLDER = tempfile.TemporaryDirectory()  # of the file of a reduced link, until the end
SECTION = frs.Rectangle(0.02, 0.02)


def _tree(beam=None, joint=None, gear=None):
    """Return an arm of two links: a rigid or flexible one, and a rigid tool."""
    builder = frs.ArmBuilder('tree')
    if beam is None:
        builder.add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
    else:
        length = None if 'axis' in beam else 0.4
        builder.add_beam('arm', material='steel', section=SECTION, length=length, **beam)
    builder.add_rigid('tool', mass=0.2, centre=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('shoulder', parent='base', child='arm', axis='y')
    builder.add_joint(
        'wrist',
        parent='arm',
        child='tool',
        xyz=(0.4, 0, 0),
        **({'axis': 'y'} if joint is None else joint),
    )
    return builder.add_gear('wrist', **gear) if gear else builder


def _sliding():
    """Return an arm whose beam slides out of a guide on a rigid link, with a rigid tool."""
    builder = frs.ArmBuilder('tree').add_rigid('column', mass=1.0, inertia=(0.01, 0.01, 0.01))
    builder.add_beam('arm', length=0.4, material='steel', section=SECTION)
    builder.add_rigid('tool', mass=0.2, centre=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('shoulder', parent='base', child='column', axis='y')
    builder.add_joint(
        'wrist',
        parent='column',
        child='arm',
        type='prismatic',
        axis='x',
        lower=-0.05,
        upper=0.1,
        mouth=0.2,
    )
    return builder.attach('tool', parent='arm')


def _loop(kind, **options):
    """Return the four-bar with a rigid coupler, closed by one constraint."""
    builder = frs.ArmBuilder('loop')
    builder.add_rigid('crank', mass=0.1, centre=(0.1, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    builder.add_rigid('coupler', mass=0.3, centre=(0.15, 0, 0.2), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_rigid('rocker', mass=0.2, centre=(0, 0, 0.2), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('crank_joint', parent='base', child='crank', axis='-y')
    builder.add_joint(
        'coupler_joint', parent='crank', child='coupler', axis='-y', xyz=(0.2, 0, 0), effort=0
    )
    builder.add_joint(
        'rocker_joint', parent='base', child='rocker', axis='-y', xyz=(0.5, 0, 0), effort=0
    )
    places = {'parent_xyz': (0, 0, 0.4), 'child_xyz': (0.3, 0, 0.4)}
    return builder.add_constraint(
        'end', type=kind, parent='rocker', child='coupler', **{**places, **options}
    )


def _free_tree(kind):
    """Return the tree on a free base of 5 kg."""
    builder = frs.ArmBuilder('free_tree')
    builder.add_rigid('bus', mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.add_rigid('arm', mass=1.0, centre=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    builder.add_joint('anchor', parent='base', child='bus', type=kind)
    return builder.add_joint('shoulder', parent='bus', child='arm', axis='y')


def _on_moved_base(builder):
    """Return an arm whose base follows a table: it rises by 1 mm within a second."""
    folder, times = Path(FOLDER.name), np.linspace(0.0, 1.0, 21)
    rows = (f'{t},0,0,{5e-4 * (1.0 - np.cos(np.pi * t))},0,0,0' for t in times)
    (folder / 'lift.csv').write_text('\n'.join(['time,x,y,z,roll,pitch,yaw', *rows]), 'utf-8')
    base = '<flexibility><base motion="lift.csv"/></flexibility></robot>'
    path = folder / 'moved.urdf'
    path.write_text(builder.to_urdf().replace('</robot>', base), 'utf-8')
    return frs.load(path)


def _contact():
    """Return the tree with a tool that touches the ground."""
    builder = _tree().add_ground(height=-0.02, friction=0.3)
    return builder.add_contact('tip', link='tool', shape=frs.Sphere(0.02), xyz=(0.2, 0, 0.01))


def _reduced():
    """Return an arm of two links, a bar of finite elements and a rigid tool."""
    file = Path(FOLDER.name) / 'arm.npz'
    write_reduced(file, _bar())
    builder = frs.ArmBuilder('tree').add_reduced('arm', file=file, modes=8)
    builder.add_rigid('tool', mass=0.2, centre=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
    builder.add_joint('shoulder', parent='base', child='arm', axis='y')
    return builder.add_joint('wrist', parent='arm', child='tool', axis='y')


def _file(arm):
    """Return the path of a URDF of the arm, which may name a file of a reduced link."""
    path = Path(FOLDER.name) / 'arm.urdf'
    path.write_text(arm.description.text, 'utf-8')
    return path


def _bar():
    """Return a reduced steel bar of 0.4 m: two tetrahedra across, eight along."""
    x, y, z = (np.linspace(*ends) for ends in ((0, 0.4, 9), (-0.01, 0.01, 2), (-0.01, 0.01, 2)))
    nodes = np.stack(np.meshgrid(x, y, z, indexing='ij'), -1).reshape(-1, 3)
    cube = np.array(
        [[0, 4, 6, 7], [0, 6, 2, 7], [0, 2, 3, 7], [0, 3, 1, 7], [0, 1, 5, 7], [0, 5, 4, 7]]
    )
    corners = np.concatenate([cube + 4 * k for k in range(len(x) - 1)])
    mesh = Mesh(*with_edge_nodes(nodes, corners))
    ends = (np.flatnonzero(np.abs(mesh.nodes[:, 0] - at) < 1e-9) for at in (0.0, 0.4))
    interfaces = [
        Interface(name, np.array([at, 0.0, 0.0]), rows)
        for name, at, rows in zip(('shoulder', 'wrist'), (0.0, 0.4), ends)
    ]
    return replace(reduce_mesh(mesh, Material(2.1e11, 0.3, 7850.0), interfaces), link='arm')


KINDS: dict[str, Callable[[], frs.ArmBuilder]] = {
    'rigid body': _tree,
    'beam, assumed modes': lambda: _tree({}),
    'beam, finite elements': lambda: _tree({'elements': 2}),
    'beam, twist coupling': lambda: _tree({'twist_coupling': True}),
    'spatial beam': lambda: _tree({'axis': [(0, 0, 0), (0.4, 0, 0)]}),
    'reduced link': _reduced,
    'sliding link': _sliding,
    'prismatic joint': lambda: _tree(
        joint={'type': 'prismatic', 'axis': 'y', 'lower': -1, 'upper': 1}
    ),
    'ball joint': lambda: _tree(joint={'type': 'spherical', 'spring_stiffness': 5.0}),
    'planar joint': lambda: _tree(
        joint={'type': 'planar', 'axis': 'y', 'spring_stiffness': (500.0, 500.0, 5.0)}
    ),
    'screw joint': lambda: _tree(joint={'type': 'screw', 'axis': 'y', 'pitch': 0.1}),
    'flexible joint': lambda: _tree(
        gear={'stiffness': 900.0, 'gear_ratio': 50, 'rotor_inertia': 1e-5}
    ),
    'gear and motor laws': lambda: _tree(
        gear={
            'stiffness': (900.0, 1800.0),
            'at': (0.5,),
            'backlash': 1e-3,
            'gear_ratio': 50,
            'rotor_inertia': 1e-5,
            'kinematic_error': [(1e-4, 2, 0)],
            'cogging': [(1e-4, 12, 0)],
            'torque_ripple': [(0.02, 6, 0)],
        }
    ),
    'DC motor': lambda: _tree().add_dc_motor(
        'shoulder', motorconst=0.1, resistance=0.5, inductance=1e-3, voltage=24, current=20
    ),
    'dry friction': lambda: _tree(
        joint={'axis': 'y', 'coulomb_friction': 0.1, 'static_friction': 0.2}
    ),
    'free base': lambda: _free_tree('floating'),
    'moved base': _tree,
    'contact': _contact,
    'mimic joint': lambda: _tree().add_mimic('wrist', leader='shoulder', multiplier=-1.0),
    'row: closed loop': lambda: _loop('revolute', parent_axis='y', child_axis='y'),
    'row: compliance': lambda: _loop(
        'revolute', parent_axis='y', child_axis='y', stiffness=1e4, damping=9.0
    ),
    'row: distance': lambda: _loop('distance', child_xyz=(0.2, 0, 0.4), length=0.1),
}


def _rates(arm):
    """Positions and gains (joints,) that suit any arm."""
    return np.zeros(len(arm.joint_names)), np.where(arm.actuated, 10.0, 0.0)


def _controller(arm):
    position, gains = _rates(arm)
    settings = ControllerSettings(position_gain=tuple(gains), velocity_gain=tuple(0.1 * gains))
    JointController(arm, settings).update(0.0, position, position)


def _scheme(name):
    return lambda arm: frs.Simulation(
        arm, frs.SimulationSettings(time_step=1e-5, scheme=name)
    ).step(2)


FEATURES: dict[str, Callable[[frs.ArmModel], object]] = {
    '`Simulation`, implicit scheme': lambda arm: frs.Simulation(arm).step(2),
    '`Simulation`, explicit schemes': _scheme('rk4'),
    'formulation `stiffened`': lambda arm: frs.Simulation(
        arm, frs.SimulationSettings(formulation='stiffened')
    ),
    '`Batch`': lambda arm: frs.Batch(arm, 2).step(2),
    '`save_state`': lambda arm: frs.Simulation(arm).save_state(),
    '`prescribe`': lambda arm: frs.Simulation(arm).prescribe(
        arm.joint_names[0], lambda t: (0.0, 0.0)
    ),
    '`pose`, `jacobian`, `mass_matrix`': lambda arm: frs.mass_matrix(arm, np.zeros(arm.size)),
    '`inverse_dynamics`': lambda arm: frs.inverse_dynamics(arm, np.zeros(arm.size)),
    '`forward_dynamics`': lambda arm: frs.forward_dynamics(arm, np.zeros(arm.size)),
    '`derivatives`': lambda arm: frs.derivatives(
        arm, np.zeros(arm.size), np.zeros(arm.size), _rates(arm)[0]
    ),
    '`equilibrium`': frs.equilibrium,
    '`modes`': frs.modes,
    '`linearise`': frs.linearise,
    '`inverse_kinematics`': lambda arm: frs.inverse_kinematics(
        arm, frs.pose(arm, frs.Simulation(arm).q)[:3, 3], nearest=True, searches=1
    ),
    '`static_jacobian`': lambda arm: frs.static_jacobian(arm, _rates(arm)[0]),
    'controller, given gains': _controller,
    'controller, default gains': frs.control.design_servo,
    'controller, feed-forward of the sag': lambda arm: make_feed_forward(arm, 'sag').update(
        frs.Simulation(arm).position
    ),
    '`ComputedTorque`': lambda arm: frs.control.ComputedTorque(arm, reference=_rates(arm)[0]).step(
        frs.feedback.measure(frs.Simulation(arm))
    ),
    '`Lqr`': lambda arm: frs.feedback.Lqr(arm, _rates(arm)[0]),
    '`design_lqg`': lambda arm: frs.feedback.design_lqg(arm, _rates(arm)[0]),
    'display in rviz': display_description,
    'Gymnasium environments': lambda arm: Episodes(_file(arm), 'rest_to_rest', 1),
}


def table() -> str:
    """Return the rows of the table."""
    arms = [_built(kind, make()) for kind, make in KINDS.items()]
    head = ['feature', *KINDS]
    rows = [[name, *(_answer(feature, arm) for arm in arms)] for name, feature in FEATURES.items()]
    return ''.join(f'| {" | ".join(row)} |\n' for row in (head, *rows)).replace(
        '\n', '\n|' + '---|' * len(head) + '\n', 1
    )


def _built(kind, builder):
    """Return the arm of a kind."""
    if kind == 'moved base':
        return _on_moved_base(builder)
    # an equilibrium on a free base needs weightlessness
    return builder.build(gravity=(0, 0, 0)) if kind == 'free base' else builder.build()


def _answer(feature, arm):
    """Return 'yes', or 'no' if the feature refuses the arm in one line."""
    try:
        feature(arm)
    except FlexRobotSimError as error:
        assert '\n' not in str(error)
        return 'no'
    return 'yes'


def fill(page: str) -> str:
    """Return the page with a new table."""
    return MARK.sub(lambda found: found[1] + table() + found[2], page)


if __name__ == '__main__':
    PAGE.write_text(fill(PAGE.read_text('utf-8')), 'utf-8')
