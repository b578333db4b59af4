"""`flexsim reduce`: a link from CAD or finite elements to a reduced link file."""

import resource
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.description import read_without_flexibility
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.geometry import MATERIALS
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.orientation import turned_by
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.values import closest
from flex_robot_sim.display.visuals import origin_of, vector_of
from flex_robot_sim.reduction.elasticity import Material
from flex_robot_sim.reduction.interface_search import JointFrame
from flex_robot_sim.reduction.loaded_stiffness import LinkLoad
from flex_robot_sim.reduction.plausibility import UNITS
from flex_robot_sim.reduction.reduce_file import (
    LinkFrame,
    Options,
    Reduction,
    reduce_file,
    reduce_matrices,
)
from flex_robot_sim.reduction.reduced_file import write_reduced
from flex_robot_sim.util.exceptions import UsageError, plain
from flex_robot_sim.util.xacro_arguments import xacro_arguments

SHOWN = 6  # frequencies
MAX_MODES = 100
NOISE = 1e-7  # of places and inertia, over the largest component


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Reduce the finite element model of a link to a few elastic coordinates. The solid is '
        'meshed; its interfaces are the joints of the link in the URDF. The second run with the '
        'same inputs takes the result from a cache.'
    )
    parser.add_argument(
        'file',
        nargs='?',
        help='STEP or STL file of the solid, or a mesh of tetrahedra (.inp, .msh, .vtu)',
    )
    parser.add_argument('xacro', nargs='*', default=[], metavar='NAME:=VALUE', help='for xacro')
    parser.add_argument('--robot', required=True, metavar='URDF', help='robot with the link')
    parser.add_argument('--link', required=True, help='link of the robot')
    parser.add_argument(
        '--material',
        help="Young's modulus [Pa], Poisson's ratio and density [kg/m3] with commas, or "
        f'{", ".join(MATERIALS)}',
    )
    common.add_output(
        parser, '--output', metavar='FILE', help='file to write (default: LINK.reduced.npz)'
    )
    common.add_output(
        parser, '--picture', metavar='FILE', help='picture of the interfaces (.png, .svg or .pdf)'
    )
    parser.add_argument(
        '--modes',
        type=int,
        default=6,
        help='natural modes in addition to six static shapes of each child joint '
        '(default: %(default)s)',
    )
    parser.add_argument(
        '--mesh',
        type=float,
        metavar='M',
        help='largest size of an element [m] (default: a 25th of the diagonal of the solid)',
    )
    parser.add_argument(
        '--interface',
        choices=('rigid', 'mean'),
        default='rigid',
        help='rigid: nodes of an interface move rigidly (RBE2); mean: on average (RBE3)',
    )
    parser.add_argument(
        '--radius', type=float, metavar='M', help='take all nodes within it of the axis of a joint'
    )
    parser.add_argument(
        '--depth', type=float, metavar='M', help='distance of these nodes from the joint'
    )
    parser.add_argument(
        '--unit', choices=tuple(UNITS), help='of an STL or mesh file (default: that of the URDF)'
    )
    parser.add_argument(
        '--pose',
        type=common.numbers,
        metavar='X,Y,Z,R,P,Y',
        help='place of the file in the frame of the link [m, rad] (default: that of the <visual> '
        'or <collision> with this file, or the origin)',
    )
    parser.add_argument(
        '--mass',
        choices=('mesh', 'inertial'),
        default='mesh',
        help='inertial: scale the density so that the mass is that of <inertial>',
    )
    parser.add_argument(
        '--matrices',
        metavar='FILES',
        help='stiffness and mass of another program instead of a file: run.sti,run.mas,run.dof '
        '(CalculiX), stif.mtx,mass.mtx (Abaqus), k.mmf,m.mmf,file.mapping (Ansys), run.op4 '
        '(Nastran)',
    )
    parser.add_argument(
        '--nodes', metavar='FILE', help='nodes of the matrices: number,x,y,z by line, or .inp'
    )
    parser.add_argument(
        '--loaded',
        action='append',
        default=[],
        metavar='FILE:JOINT:FX,FY,FZ,MX,MY,MZ',
        help='tangent stiffness of the link under a small wrench on a child joint [N, N m], in '
        'the axes of the link, for terms of second order; once for each load',
    )
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    path, paths = _inputs(arguments)
    output = arguments.output or f'{arguments.link}.reduced.npz'
    if arguments.output is None and not arguments.force:
        common.refuse_existing_file('--output', output)
    common.expect_writable(output)
    common.expect_drawable(arguments.picture)
    for option in ('mesh', 'radius', 'depth'):
        common.expect_within(f'--{option}', getattr(arguments, option))
    if not 0 <= arguments.modes <= MAX_MODES:
        raise UsageError(f'--modes must be between 0 and {MAX_MODES}.')
    loads = [_load(text) for text in arguments.loaded]
    if loads and not paths:
        raise UsageError('--loaded needs --matrices.')
    for file in (path, *paths, *(file for file, _ in loads)):
        if not file.is_file():
            raise UsageError(f'{file}: there is no such file.')
    material = None if arguments.material is None else _material(arguments.material)
    robot = read_without_flexibility(arguments.robot, xacro_arguments(arguments.xacro) or None)
    frame = link_frame(robot, arguments.link)
    if arguments.modes == 0 and len(frame.joints) == 1:
        raise UsageError(f'link "{plain(frame.name)}" has no child joint: choose --modes above 0.')
    rotation, place, unit = _pose(arguments, robot, path)
    options = Options(
        modes=arguments.modes,
        mesh=arguments.mesh or 0.0,
        interface=arguments.interface,
        radius=arguments.radius or 0.0,
        depth=arguments.depth or 0.0,
        unit=unit,
        pose=(*np.ravel(rotation).tolist(), *np.ravel(place).tolist()),
        is_density_scaled=arguments.mass == 'inertial',
    )
    stages = _Stages()
    with show_progress('reducing', progress_text=stages.text):
        if paths:
            result = reduce_matrices(paths, path, frame, material, options, stages.start, loads)
        else:
            assert material is not None
            result = reduce_file(path, frame, material, options, stages.start)
    stages.start('')
    try:
        write_reduced(output, result.link)
    except OSError as error:
        raise UsageError(f'{output}: cannot be written: {error.strerror}.') from error
    if arguments.picture:
        _draw(arguments.picture, result)
    for note in result.notes:
        print(f'flexsim reduce: note: {plain(note)}', file=sys.stderr)
    common.print_result(arguments, _summary(result, output, stages), _as_text)
    return 0


def _inputs(arguments: Namespace) -> tuple[Path, list[Path]]:
    """Return the file with the geometry or the nodes, and the matrices."""
    if arguments.matrices:
        if arguments.file:
            raise UsageError(f'{arguments.file}: give a file or --matrices.')
        if not arguments.nodes:
            raise UsageError('--matrices needs --nodes, with the places of the nodes.')
        return Path(arguments.nodes), [Path(word) for word in arguments.matrices.split(',')]
    if not arguments.file:
        raise UsageError('name a STEP, STL or mesh file, or --matrices.')
    if arguments.material is None:
        raise UsageError('--material is needed: E,nu,density, or the name of one.')
    return Path(arguments.file), []


def link_frame(robot: RobotDescription, name: str) -> LinkFrame:
    """Return what the robot states about a link; its first joint is the one to its parent."""
    names = [link.name for link in robot.links]
    if name not in names:
        suggestion = closest(name, names)
        hint = f'Did you mean "{suggestion}"?' if suggestion else f'It has: {", ".join(names)}.'
        raise UsageError(f'{robot.name} has no link "{plain(name)}". {hint}')
    row = names.index(name)
    parent = robot.joints[row - 1] if row else None
    root = JointFrame(
        parent.name if parent else 'origin',
        np.zeros(3),
        parent.axis if parent else np.array([0.0, 0.0, 1.0]),
    )
    children = [_child(joint) for joint in robot.children(name)]
    return LinkFrame(name, [root, *children], *_mass(robot.links[row]))


def _child(joint: Joint) -> JointFrame:
    return JointFrame(joint.name, joint.position, joint.rotation @ joint.axis)


def _mass(link: Link) -> tuple[float, float]:
    """Mass and radius of gyration of <inertial>; zeros without one."""
    if link.inertial is None or link.inertial.mass <= 0.0:
        return 0.0, 0.0
    mass = link.inertial.mass
    return mass, float(np.sqrt(np.trace(link.inertial.inertia) / 2 / mass))


def _material(text: str) -> Material:
    if text in MATERIALS:
        E, G, density, _ = MATERIALS[text]
        assert G is not None and density is not None
        return Material(E, E / (2 * G) - 1, density)
    try:
        E, nu, density = map(float, text.split(','))
    except ValueError as error:
        raise UsageError(
            f'--material {plain(text)}: write E,nu,density, for instance 7e10,0.33,2700, or one '
            f'of {", ".join(MATERIALS)}.'
        ) from error
    if not (0.0 < E < 1e13 and -1.0 < nu < 0.499 and 0.0 < density < 1e5):
        raise UsageError(
            f'--material {plain(text)}: needs a modulus above 0 [Pa], a ratio between -1 and '
            '0.499 and a density above 0 [kg/m3].'
        )
    return Material(E, nu, density)


def _load(text: str) -> tuple[Path, LinkLoad]:
    """Return file and load of one --loaded."""
    file, _, rest = text.partition(':')
    joint, _, numbers = rest.rpartition(':')
    try:
        wrench = tuple(map(float, numbers.split(',')))
    except ValueError:
        wrench = ()
    if not joint or len(wrench) != 6 or not 0.0 < np.abs(wrench).max() < np.inf:
        raise UsageError(
            f'--loaded {plain(text)}: write FILE:JOINT:FX,FY,FZ,MX,MY,MZ, for instance '
            'pulled.sti:elbow:100,0,0,0,0,0.'
        )
    return Path(file), LinkLoad(joint, wrench)


def _pose(arguments, robot, path):
    """Return rotation and place of the file in the link, and its unit."""
    if arguments.pose is not None:
        if len(arguments.pose) != 6:
            raise UsageError('--pose needs six numbers: x,y,z [m] and roll,pitch,yaw [rad].')
        return turned_by(np.array(arguments.pose[3:])), arguments.pose[:3], arguments.unit or ''
    root = Document(robot.source, robot.text.encode()).root
    for link in root.findall('link'):
        if (link.get('name') or '').strip() != arguments.link:
            continue
        for shape in (*link.findall('visual'), *link.findall('collision')):
            mesh = shape.find('geometry/mesh')
            if mesh is not None and Path(mesh.get('filename', '')).stem == path.stem:
                place, rotation = origin_of(shape)
                return rotation, place, arguments.unit or _unit(mesh, path)
    return np.eye(3), np.zeros(3), arguments.unit or ''


def _unit(mesh, path):
    """Return the unit that the scale of a mesh in the URDF states; '' for metres and for STEP."""
    scale = vector_of(mesh.get('scale', '1 1 1'))
    if path.suffix.lower() in ('.step', '.stp'):
        return ''
    for unit, factor in UNITS.items():
        if np.allclose(scale, factor, rtol=1e-6):
            return unit
    return ''


class _Stages:
    """Elapsed time and processor time of the stages of a reduction."""

    def __init__(self) -> None:
        self.current = ''
        self.rows: list[dict[str, Any]] = []
        self._started = self._now()
        self._first = self._started

    @staticmethod
    def _now():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), time.process_time() + children.ru_utime + children.ru_stime

    def start(self, stage: str) -> None:
        """Begin a stage, and end the one before; '' only ends."""
        now = self._now()
        if self.current:
            elapsed, processor = np.subtract(now, self._started).tolist()
            self.rows.append({'stage': self.current, 'time': elapsed, 'processor': processor})
        self.current, self._started = stage, now

    def text(self) -> str:
        """Return the stage, the elapsed time and the largest memory so far."""
        return f'{self.current}, {self._now()[0] - self._first[0]:.0f} s, {memory_gb():.1f} GB'


def memory_gb() -> float:
    """Largest memory of this process so far [GB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def _draw(path, result: Reduction):
    from flex_robot_sim.util.plots import write_surface  # matplotlib loads slowly

    link, nodes = result.link, result.points
    marks = {one.summary: nodes[one.interface.nodes] for one in result.interfaces}
    title = f'{link.link}: {len(nodes)} nodes, {link.source}'
    write_surface(path, title, link.surface_points, link.surface_triangles, marks)


def _summary(result: Reduction, output: str, stages: _Stages) -> dict[str, Any]:
    link = result.link
    return {
        'link': link.link,
        'source': link.source,
        'output': output,
        'is_cached': result.is_cached,
        'nodes': len(result.points),
        'elements': result.elements,
        'mass': link.mass,
        'centre': _without_noise(link.centre),
        'inertia': _without_noise(link.inertia),
        'coordinates': link.size,
        'soft_coordinates': link.soft,
        'interfaces': [one.summary for one in result.interfaces],
        'frequencies': link.frequencies.tolist(),
        'mesh_frequencies': link.mesh_frequencies.tolist(),
        'other_frequencies': link.other_frequencies.tolist(),
        'stages': stages.rows,
        'memory_gb': memory_gb(),
    }


def _without_noise(values: np.ndarray) -> list:
    """Return numbers as lists, with zeros in place of rounding errors."""
    is_noise = np.abs(values) < NOISE * np.abs(values).max()
    return np.where(is_noise, 0.0, values).tolist()


def _as_text(summary: Mapping[str, Any]):
    yield f'{summary["link"]}: {summary["output"]}' + (
        ', from the cache' if summary['is_cached'] else ''
    )
    yield (
        f'  mesh: {summary["nodes"]} nodes, {summary["elements"]} elements, '
        f'mass {summary["mass"]:.4g} kg'
    )
    for number, text in enumerate(summary['interfaces']):
        yield f'  {"root" if number == 0 else "child"} {text}'
    yield f'  {summary["coordinates"]} coordinates, {summary["soft_coordinates"]} of them soft'
    yield '  frequencies with the root held [Hz]'
    for label, key in (
        ('this file', 'frequencies'),
        ('the mesh', 'mesh_frequencies'),
        ('interfaces of the other kind', 'other_frequencies'),
    ):
        yield f'    {label:29}' + ''.join(f'{value:9.4g}' for value in summary[key][:SHOWN])
    if not summary['is_cached']:
        for row in summary['stages']:
            yield (
                f'  {row["stage"]:29}  {row["time"]:6.1f} s, processor {row["processor"]:6.1f} s'
            )
    yield f'  memory: {summary["memory_gb"]:.1f} GB'
    yield '  in the URDF'
    x, y, z = summary['centre']
    rows = summary['inertia']
    names = (
        ('ixx', 0, 0),
        ('iyy', 1, 1),
        ('izz', 2, 2),
        ('ixy', 0, 1),
        ('ixz', 0, 2),
        ('iyz', 1, 2),
    )
    values = ' '.join(f'{name}="{rows[i][j]:.6g}"' for name, i, j in names)
    yield f'    <inertial><origin xyz="{x:.6g} {y:.6g} {z:.6g}"/>'
    yield f'      <mass value="{summary["mass"]:.6g}"/><inertia {values}/></inertial>'
    yield f'    <reduced file="{summary["output"]}"/>'
