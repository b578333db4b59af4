"""A module imports its own layer or a lower one, and every outside library has one owner."""

import ast
import functools
import re
import sys

import pytest
from project_files import ROOT

PACKAGE = 'flex_robot_sim'
FOLDER = ROOT / PACKAGE

# The rooms of docs/architecture.md, row by row; a module imports from its own room and from rows
# above it.
LAYERS = (
    {'util', 'version', 'start'},
    {'jit'},
    {'spatial'},
    {'elastic', 'reduction'},
    {'description'},
    {'model'},
    {'dynamics'},
    {'motion'},
    {'analysis'},
    {'formulations', 'display'},
    {'simulation'},
    {'batch', 'realtime'},
    {'ros'},
    {'recording'},
    {'shaping', 'feedback', 'planning'},
    {'control'},
    # the package itself offers the library
    {
        'sweeps',
        'environments',
        'rig',
        'identification',
        'reproduce',
        'system',
        'demo',
        'viewer',
        PACKAGE,
    },
    {'nodes', 'reports', 'export'},
    {'cli', '__main__'},
)

START = 'start'  # runs programs of all rows, and is imported by them

# (room, room of the same row that it may import)
NEIGHBOURS = {
    ('util', 'version'),
    ('version', 'util'),
    ('planning', 'feedback'),
    ('reduction', 'elastic'),
    ('environments', 'sweeps'),
    ('identification', 'rig'),
    ('reproduce', 'rig'),
    ('system', 'rig'),
    ('demo', 'system'),
    ('viewer', 'demo'),
    *((PACKAGE, room) for room in ('sweeps', 'identification')),
}
# the rooms of the bench, each after those that it may know
RIG = (
    {'rig.errors'},
    {'rig.wire'},
    {'rig.host', 'rig.bench'},
    {'rig.board', 'rig.calibration', 'rig.estimation'},
    {'rig.bridge', 'rig.conformance'},
)
ANYBODY = ''
OWNERS = {
    'numpy': ANYBODY,
    'scipy': ANYBODY,
    'ament_index_python': 'system.launching',
    'argcomplete': 'cli.completion',
    'control': 'analysis.linear',
    'distributed': 'sweeps.cluster',
    'gymnasium': 'environments',
    'launch': 'system.launching',
    'launch_ros': 'system.launching',
    'llvmlite': 'jit',
    'lxml': 'description.document',
    'matplotlib': 'util.plots',
    'mcap': 'recording.mcap_file',
    'meshio': 'reduction.mesh_files',
    'mpl_toolkits': 'util.plots',
    'msgspec': 'viewer.widget_messages',
    'zstandard': 'recording.chunks',
    'lz4': 'recording.chunks',
    'numba': 'jit',
    'pandas': 'util.table_files',
    'pyarrow': 'util.table_files',
    'rclpy': 'ros and nodes',
    'rosbags': 'recording.read.ros1_bag',
    'ruckig': 'shaping.motion_profiles',
    'serial': 'rig.host.serial_port',
    'trimesh': 'viewer.meshes',
    'viser': 'viewer.browser and viewer.page_panel and viewer.page_scene',
    'websockets': 'viewer.page_access',
    'xacro': 'description.xacro_file',
    'yaml': 'util.settings',
}
MESSAGES = re.compile(r'\w+_(msgs|srvs|interfaces)')


def layer(name):
    """Return the layer of a module, from the first words of its name inside the package."""
    first = name.split('.')[0] or PACKAGE
    if room(name) and storey(name) is None:
        return None
    return next((i for i, names in enumerate(LAYERS) if first in names), None)


def room(name):
    """Return the room of the bench that a module is in, 'rig.wire', or None elsewhere."""
    words = name.split('.')
    return '.'.join(words[:2]) if words[0] == 'rig' and len(words) > 1 else None


def storey(name):
    return next((i for i, names in enumerate(RIG) if room(name) in names), None)


def is_below(name, other):
    """Whether a module is in a lower layer than another, or in a lower room of the bench."""
    if room(name) and room(other):
        return storey(name) < storey(other)
    return layer(name) < layer(other)


def is_beside(name, other):
    """Whether these are in two rooms of the bench, of which neither is below the other."""
    return (
        bool(room(name) and room(other))
        and room(name) != room(other)
        and (storey(name) == storey(other))
    )


def is_neighbour(name, other):
    """Whether these are in two rooms of one row that do not know each other."""
    rooms = name.split('.')[0] or PACKAGE, other.split('.')[0] or PACKAGE
    return layer(name) == layer(other) and rooms[0] != rooms[1] and rooms not in NEIGHBOURS


def owner(library):
    return OWNERS['rclpy'] if MESSAGES.fullmatch(library) else OWNERS.get(library)


def is_within(name, folders):
    return folders == ANYBODY or any(
        f'{name}.'.startswith(f'{folder}.') for folder in folders.split(' and ')
    )


@functools.cache  # many modules import the same ones
def imported_modules(source):
    """Return the absolute names that `source` imports, wherever it does so; '.' if relative."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            names.append('.')
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            names += [f'{PACKAGE}.{alias.name}' for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module)
        elif isinstance(node, ast.Call) and re.search(
            r'\b(import_module|__import__)$', ast.unparse(node.func)
        ):
            names += [
                ast.literal_eval(name) for name in node.args[:1] if isinstance(name, ast.Constant)
            ]
    return names


def faults(name, source):
    """Say what is wrong with the imports of module `name` (inside the package, '' is itself)."""
    if layer(name) is None:
        return [f'{name} has no layer']
    found = []
    for imported in imported_modules(source):
        library, _, rest = imported.partition('.')
        if imported == '.':
            found.append(f'{name} has a relative import')
        elif library == PACKAGE:
            # what is no module of the table is a name that the package itself offers
            rest = rest if layer(rest) is not None else ''
            if is_below(name, rest) and name != START:
                found.append(f'{name} imports {imported} from a higher layer')
            elif is_beside(name, rest) or is_neighbour(name, rest):
                found.append(f'{name} imports {imported} from a room beside its own')
        elif library not in sys.stdlib_module_names:
            if owner(library) is None:
                found.append(f'{name} imports {library}, which has no owner')
            elif not is_within(name, owner(library)):
                found.append(f'{name} imports {library}, which belongs to {owner(library)}')
    return found


def module_name(path):
    words = path.relative_to(FOLDER).with_suffix('').parts
    return '.'.join(word for word in words if word != '__init__')


@pytest.mark.parametrize(
    'folder', sorted({path.parent for path in FOLDER.rglob('*.py')}), ids=lambda path: path.name
)
def test_modules_keep_to_their_layer_and_their_libraries(folder):
    assert [
        fault
        for path in sorted(folder.glob('*.py'))
        for fault in faults(module_name(path), path.read_text(encoding='utf-8'))
    ] == []


HIGHER, BESIDE = 'from a higher layer', 'from a room beside its own'


@pytest.mark.parametrize(
    'name, imported, fault',
    [
        ('dynamics.kinematics', 'simulation.simulation', HIGHER),
        ('dynamics.energy', 'analysis.natural_modes', HIGHER),
        ('elastic.section', 'model', HIGHER),
        ('', 'nodes.dynamics', HIGHER),
        ('shaping.impulses', 'feedback.lqg', BESIDE),
        ('rig.wire.frames', 'rig.host.clock', HIGHER),
        ('rig.bench.bench', 'rig.host.link', BESIDE),
    ],
)
def test_wrong_import_of_a_module_is_found(name, imported, fault):
    assert faults(name, f'from {PACKAGE}.{imported} import name') == [
        f'{name} imports {PACKAGE}.{imported} {fault}'
    ]


@pytest.mark.parametrize(
    'source, fault',
    [
        ('import flex_robot_sim', 'flex_robot_sim from a higher layer'),
        ('from flex_robot_sim import load', 'flex_robot_sim.load from a higher layer'),
        ('def run():\n    import rclpy.node', 'rclpy, which belongs to ros and nodes'),
        ('from sensor_msgs.msg import JointState', 'sensor_msgs, which belongs to ros and nodes'),
        ('node = importlib.import_module("rclpy")', 'rclpy, which belongs to ros and nodes'),
        ('from lxml import etree', 'lxml, which belongs to description.document'),
        (
            'try:\n    import numba as nb\nexcept ImportError:\n    pass',
            'numba, which belongs to jit',
        ),
        ('import serial', 'serial, which belongs to rig.host.serial_port'),
        ('import seaborn', 'seaborn, which has no owner'),
    ],
)
def test_wrong_import_of_a_package_is_found(source, fault):
    assert faults('model.arm_model', source) == [f'model.arm_model imports {fault}']


def test_a_relative_import_and_a_module_without_a_layer_are_found():
    assert faults('elastic.section', 'from . import clamped') == [
        'elastic.section has a relative import'
    ]
    assert faults('helpers', '') == ['helpers has no layer']


@pytest.mark.parametrize(
    'name, source',
    [
        ('simulation.queries', 'import math, numpy as np\nfrom scipy import linalg'),
        ('dynamics.energy', 'from flex_robot_sim.dynamics.kinematics import poses'),
        ('planning.trials', 'from flex_robot_sim.feedback.pose_model import pose_model'),
        ('rig.bridge.bridge', 'from flex_robot_sim.rig.host.serial_port import open_port'),
        ('rig.host.serial_port', 'import serial'),
        ('nodes.dynamics', 'import rclpy\nfrom std_srvs.srv import Trigger'),
        ('recording.simulated', 'from flex_robot_sim.ros import topics'),
        ('cli', 'from flex_robot_sim import __version__'),
        ('jit.compiled', 'import numba'),
    ],
)
def test_right_import_is_left_alone(name, source):
    assert faults(name, source) == []


# modules of the room `ros` that other rooms import, which run without ROS
WITHOUT_ROS = (
    *('cdr', 'definitions', 'network', 'node_settings', 'services', 'state_rows', 'topics'),
    'trajectory_cdr',
)


@pytest.mark.parametrize('name', WITHOUT_ROS)
def test_module_of_the_room_ros_needs_no_rclpy(name):
    path = FOLDER / 'ros' / f'{name}.py'
    needed = [path, *(FOLDER / f'{other.replace(".", "/")}.py' for other in known_to(path))]
    assert [
        imported
        for module in needed
        for imported in imported_modules(module.read_text(encoding='utf-8'))
        if owner(imported.partition('.')[0]) == OWNERS['rclpy']
    ] == []


def test_rooms_without_ros_import_only_these_modules_of_the_room_ros():
    assert [
        (module_name(path), name)
        for path in FOLDER.rglob('*.py')
        if layer(module_name(path)) < layer('nodes') and 'ros' not in path.parts
        if module_name(path) != START
        for name in imported_modules(path.read_text(encoding='utf-8'))
        if name.startswith(f'{PACKAGE}.ros.') and name.rpartition('.')[2] not in WITHOUT_ROS
    ] == []


JUDGED = {'dynamics.forward_dynamics', 'dynamics.kinematics', 'dynamics.beam_inertia'}
AROUND = {'formulations.recursion', 'formulations.driving'}  # wrap the dynamics under test
JUDGES = [
    path
    for path in sorted((FOLDER / 'formulations').glob('*.py'))
    if module_name(path) not in AROUND
]


def known_to(path):
    """Return the modules of the package that a module imports, and those that these import."""
    names, ahead = set(), [path]
    while ahead:
        for imported in imported_modules(ahead.pop().read_text(encoding='utf-8')):
            name = imported.partition('.')[2] if imported.startswith(f'{PACKAGE}.') else None
            module = name and FOLDER / f'{name.replace(".", "/")}.py'
            if module and module.exists() and name not in names:
                names.add(name)
                ahead.append(module)
    return names


@pytest.mark.parametrize('path', JUDGES, ids=module_name)
def test_reference_formulations_share_no_code_with_the_dynamics(path):
    assert known_to(path) & JUDGED == set()


# the checks of any board import neither the board nor the host of this package
CONFORMANCE = sorted(
    path for path in (FOLDER / 'rig' / 'conformance').glob('*.py') if path.stem != 'back_ends'
)  # back_ends starts the board under test


@pytest.mark.parametrize('path', CONFORMANCE, ids=module_name)
def test_checks_of_boards_import_neither_board_nor_host(path):
    theirs = f'{PACKAGE}.rig.board', f'{PACKAGE}.rig.host'
    imported = imported_modules(path.read_text(encoding='utf-8'))
    assert [name for name in imported if name.startswith(theirs)] == []


TESTS = ROOT / 'test'
OF_ALL = {'project', 'launch', 'ros2_plugins'}  # rooms of tests that concern the whole house


def test_tests_are_in_the_rooms_of_what_they_test():
    rooms = {path.parent.relative_to(TESTS) for path in TESTS.rglob('test_*.py')}
    assert {
        str(room)
        for room in rooms
        if not ((FOLDER / room).is_dir() or (FOLDER / room).with_suffix('.py').is_file())
    } <= OF_ALL


def test_names_of_test_files_are_unique_across_folders():
    """The oldest pytest imports them by these names."""
    names = [path.name for path in TESTS.rglob('*.py') if path.name != 'conftest.py']
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
