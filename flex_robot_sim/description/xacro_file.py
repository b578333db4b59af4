"""Expansion of xacro in a separate process: its expressions may print or never end."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from flex_robot_sim.description.values import closest
from flex_robot_sim.start import run_text
from flex_robot_sim.util.exceptions import DescriptionError

TIMEOUT_S = 30.0  # the largest robots in use expand within a second

_COLOUR = re.compile(r'\x1b\[[0-9;]*m')
_ERROR = re.compile(r'(error: |XML parsing error)', re.IGNORECASE)
_ARGUMENT = re.compile(r'<[\w.-]+:arg\s[^>]*?\bname\s*=\s*["\']([^"\']+)|\$\(arg\s+([^)\s]+)')

# Without a ROS environment the search for a package fails in many ways. This program fails in one
# way, with the name of the package.
_CHILD_PROGRAM = """
import os, sys, types, xacro
try:
    import ament_index_python.packages
    found = os.environ.get('AMENT_PREFIX_PATH')
except ImportError:
    found = False
if not found:
    def nowhere(package, **options):
        raise LookupError(f"no environment for package '{package}'")
    for name in ('ament_index_python', 'ament_index_python.packages'):
        sys.modules[name] = types.ModuleType(name)
    sys.modules[name].get_package_share_directory = nowhere
xacro.main()
"""


def expand(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Return the URDF text [bytes] that xacro makes of a file, with arguments {name: value}."""
    if find_spec('xacro') is None:
        raise DescriptionError(
            path,
            None,
            'this is a xacro file and xacro is not installed',
            'pip install xacro, or apt install ros-$ROS_DISTRO-xacro',
        )
    words = [str(path), *(f'{name}:={value}' for name, value in arguments.items())]
    result = _run(path, words)
    if result.returncode != 0:
        _refuse_unknown_arguments(path, arguments, b'', only_misspelt=True)
        problem, remedy = _error_reason(result.stderr)
        raise DescriptionError(
            path,
            None,
            f'xacro failed: {problem}',
            remedy or f'Mend the file; `{shlex.join(["xacro", *words])}` shows the same',
        )
    if arguments:
        _refuse_unknown_arguments(path, arguments, _run(path, ['--deps', *words]).stdout)
    return result.stdout


def _run(path, words):
    try:
        return subprocess.run(
            run_text(_CHILD_PROGRAM, *words),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise DescriptionError(
            path,
            None,
            f'xacro did not end within {TIMEOUT_S:g} s',
            'Look for a macro or an expression without an end',
        ) from error


def _error_reason(output):
    """Return the error of xacro, with its cause first, and a remedy or None."""
    text = _COLOUR.sub('', output.decode('utf-8', 'replace')).strip()
    package = re.search(r"package '([^']*)' not found", text)
    if package:
        return f'package "{package[1]}" not found', 'Build it and source its workspace'
    package = re.search(r"no environment for package '([^']*)'", text)
    if package:
        return (
            f'it looks for the ROS package "{package[1]}", and no ROS environment is sourced',
            'Source a ROS environment that has it',
        )
    lines = [' '.join(line.split()) for line in text.splitlines() if line.strip()]
    if 'Traceback' in text:
        return lines[-1], None
    first = next((i for i, line in enumerate(lines) if _ERROR.match(line)), 0)
    lines = lines[first : first + 3] or ['no reason given']
    if 'Check that:' in lines:
        lines = lines[: lines.index('Check that:')]
    argument = re.search(r'Undefined substitution argument (\S+)', lines[0])
    return (
        '; '.join([re.sub('^error: ', '', lines[0]), *lines[1:]]),
        f'Give {argument[1]}:=VALUE' if argument else None,
    )


def _refuse_unknown_arguments(path, arguments, included, only_misspelt=False):
    """Refuse an argument whose name occurs neither in the file nor in its `included` files."""
    try:
        files = [path, *included.decode().split()]
        text = '\n'.join(Path(file).read_text('utf-8') for file in files)
    except (OSError, UnicodeDecodeError):  # a name with a space, or a mesh: the names are unknown
        return
    known = sorted({first or second for first, second in _ARGUMENT.findall(text)})
    if any('$' in name for name in known):
        return
    for name in arguments:
        if not re.search(rf'(?<!\w){re.escape(name)}(?!\w)', text):
            suggestion = closest(name, known)
            if only_misspelt and not suggestion:
                continue
            raise DescriptionError(
                path,
                None,
                f'this xacro file has no argument "{name}"',
                f'Did you mean "{suggestion}"?'
                if suggestion
                else f'It has: {", ".join(known)}'
                if known
                else 'Leave it out',
            )
