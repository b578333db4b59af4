"""Expand xacro, in a process of its own: its expressions may run for ever or print."""

import re
import subprocess
import sys
from importlib.util import find_spec

from flex_robot_sim.exceptions import DescriptionError

PATIENCE = 30.0     # [s]; the largest robots in use expand within a second

_COLOUR = re.compile(r'\x1b\[[0-9;]*m')


def expand(path, arguments):
    """
    Return the URDF text [bytes] that xacro makes of the file `path`.

    :param arguments: {name: value} of the xacro arguments.
    """
    if find_spec('xacro') is None:
        raise DescriptionError(path, None, 'this is a xacro file and xacro is not installed',
                               'pip install xacro, or apt install ros-$ROS_DISTRO-xacro')
    words = [f'{name}:={value}' for name, value in arguments.items()]
    command = [sys.executable, '-c', 'import xacro; xacro.main()', str(path), *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise DescriptionError(path, None, f'xacro did not end within {PATIENCE:g} s',
                               'Look for a macro or an expression without an end') from error
    if done.returncode != 0:
        raise DescriptionError(path, None, f'xacro failed: {_reason(done.stderr)}',
                               f'Mend the file; `xacro {path}` shows the same')
    return done.stdout


def _reason(printed):
    """Return what xacro said, without the warnings before it, on one line."""
    text = _COLOUR.sub('', printed.decode('utf-8', 'replace')).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if 'ament_index_python' in text:
        return 'it looks for ROS packages, and no ROS environment is sourced'
    wanted = [line for line in lines if not line.lower().startswith('warning')]
    return '; '.join((wanted or ['no reason given'])[-4:]).rstrip('.')
