"""A module imports its own layer or a lower one, and every outside library has one owner."""

import ast
import re
import sys
from pathlib import Path

import pytest

PACKAGE = 'flex_robot_sim'
FOLDER = Path(__file__).resolve().parents[1] / PACKAGE

# The house of docs/architecture.md; a module stands here before it exists.
LAYERS = (
    {'exceptions', 'compiled', 'exponential', 'screws', 'share'},
    {'settings', 'description', 'beams'},
    {'assembly', 'model'},
    {'adaptive', 'beam_inertia', 'deflection', 'dynamics', 'energy', 'flex_sensors', 'forces',
     'formulations', 'integrators', 'jacobians', 'kinematics', 'linear', 'loads', 'mass',
     'stability', 'statics', 'tangent', 'twists', 'validity'},
    {'control', 'simulation', PACKAGE},             # the package itself offers the library
    {'demo', 'display', 'realtime', 'rig', 'viewer', 'recording', 'plots', 'system'},
    {'cli', 'nodes', '__main__'},
)
ANYBODY = ''
OWNERS = {
    'numpy': ANYBODY,
    'scipy': ANYBODY,
    'ament_index_python': 'nodes.launching',
    'launch': 'nodes.launching',
    'launch_ros': 'nodes.launching',
    'lxml': 'description.document',
    'matplotlib': 'plots',
    'numba': 'compiled',
    'rclpy': 'nodes',
    'serial': 'rig.port',
    'viser': 'viewer',
    'xacro': 'description.xacro_file',
    'yaml': 'settings',
}
MESSAGES = re.compile(r'\w+_(msgs|srvs|interfaces)')


def layer(name):
    """Return the layer of a module, from the first word of its name inside the package."""
    first = name.split('.')[0] or PACKAGE
    return next((i for i, names in enumerate(LAYERS) if first in names), None)


def owner(library):
    return 'nodes' if MESSAGES.fullmatch(library) else OWNERS.get(library)


def is_within(name, folder):
    return folder == ANYBODY or f'{name}.'.startswith(f'{folder}.')


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
        elif isinstance(node, ast.Call):
            names += re.findall(r"(?:\bimport_module|^__import__)\('([\w.]+)'", ast.unparse(node))
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
            if layer(name) < layer(rest if layer(rest) is not None else ''):
                found.append(f'{name} imports {imported} from a higher layer')
        elif library not in sys.stdlib_module_names:
            if owner(library) is None:
                found.append(f'{name} imports {library}, which has no owner')
            elif not is_within(name, owner(library)):
                found.append(f'{name} imports {library}, which belongs to {owner(library)}')
    return found


def module_name(path):
    words = path.relative_to(FOLDER).with_suffix('').parts
    return '.'.join(word for word in words if word != '__init__')


@pytest.mark.parametrize('path', sorted(FOLDER.rglob('*.py')), ids=module_name)
def test_module_keeps_to_its_layer_and_its_libraries(path):
    assert faults(module_name(path), path.read_text(encoding='utf-8')) == []


@pytest.mark.parametrize('name, source, fault', [
    ('dynamics', 'from flex_robot_sim.simulation import Simulation',
     'dynamics imports flex_robot_sim.simulation from a higher layer'),
    ('beams.clamped', 'from flex_robot_sim import model',
     'beams.clamped imports flex_robot_sim.model from a higher layer'),
    ('model', 'import flex_robot_sim',
     'model imports flex_robot_sim from a higher layer'),
    ('model', 'from flex_robot_sim import load',
     'model imports flex_robot_sim.load from a higher layer'),
    ('', 'from flex_robot_sim.rig.port import open_port',
     ' imports flex_robot_sim.rig.port from a higher layer'),
    ('simulation', 'def run():\n    import rclpy.node',
     'simulation imports rclpy, which belongs to nodes'),
    ('simulation', 'from sensor_msgs.msg import JointState',
     'simulation imports sensor_msgs, which belongs to nodes'),
    ('control.joint', 'node = importlib.import_module("rclpy")',
     'control.joint imports rclpy, which belongs to nodes'),
    ('description.urdf', 'from lxml import etree',
     'description.urdf imports lxml, which belongs to description.document'),
    ('dynamics', 'try:\n    import numba as nb\nexcept ImportError:\n    pass',
     'dynamics imports numba, which belongs to compiled'),
    ('rig.portable', 'import serial', 'rig.portable imports serial, which belongs to rig.port'),
    ('plots', 'import pandas', 'plots imports pandas, which has no owner'),
    ('beams.section', 'from . import clamped', 'beams.section has a relative import'),
    ('helpers', '', 'helpers has no layer'),
])
def test_wrong_import_is_found(name, source, fault):
    assert faults(name, source) == [fault]


@pytest.mark.parametrize('name, source', [
    ('simulation', 'import math, numpy as np\nfrom scipy import linalg'),
    ('dynamics', 'from flex_robot_sim.kinematics import poses'),
    ('rig', 'from flex_robot_sim.rig.port import open_port'),
    ('rig.port', 'import serial'),
    ('nodes.dynamics', 'import rclpy\nfrom std_srvs.srv import Trigger'),
    ('cli', 'from flex_robot_sim import __version__'),
    ('compiled', 'import numba'),
])
def test_right_import_is_left_alone(name, source):
    assert faults(name, source) == []
