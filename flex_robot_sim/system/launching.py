"""Actions of ros2 launch for the table of programs (system/), used by the files in launch/."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import Field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, LogInfo, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from flex_robot_sim.ros.network import prepare_network, use_network
from flex_robot_sim.system.launch_arguments import (
    HilArguments,
    ShaperArguments,
    SimulationArguments,
)
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import AnySettings, Settings
from flex_robot_sim.util.share import NAME

if TYPE_CHECKING:
    from launch.action import Action
    from launch.launch_context import LaunchContext

LAUNCH_FILES = {'simulation.launch.py', 'hil.launch.py', 'shaper.launch.py'}
BOOLEANS = {'true': True, 'false': False, 'True': True, 'False': False}


def declare_arguments(kind: type[Settings]) -> list[DeclareLaunchArgument]:
    """Return a DeclareLaunchArgument per field of a settings class."""
    return [
        DeclareLaunchArgument(
            item.name,
            default_value=launch_text(item.default),
            description=item.metadata['help'],
            choices=choices_of(item),
        )
        for item in fields(kind)
    ]


def choices_of(item: Field) -> list[str] | None:
    """Return the choices of a launch argument, as texts; None for any value."""
    if isinstance(item.default, bool):
        return list(BOOLEANS)
    choices = item.metadata['choices']
    # launch accepts True and False as well
    spellings = [word for word in BOOLEANS if word.lower() in choices and word not in choices]
    return [*choices, *spellings] or None


def launch_text(value: object) -> str:
    """Return a value as it is written on the command line of ros2 launch."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_arguments(kind: type[AnySettings], context: LaunchContext) -> AnySettings:
    """Return an object of the settings class with the arguments of `ros2 launch`."""
    values = {}
    _refuse_unknown([item.name for item in fields(kind)], context)
    for item in fields(kind):
        text = LaunchConfiguration(item.name).perform(context)
        values[item.name] = value_of(item, text)
    return kind(**values)


def _refuse_unknown(known: list[str], context: LaunchContext) -> None:
    """
    Raise SettingError for a launch argument that no launch file declares.

    The check applies only if the command line names a launch file of this package: a launch file
    that includes it shares additional arguments.
    """
    if not LAUNCH_FILES & {Path(word).name for word in sys.argv}:
        return
    for name in context.launch_configurations:
        if name not in known:
            matches = get_close_matches(name, known, 1)
            raise SettingError(
                f'there is no launch argument "{name}". '
                + (f'Did you mean "{matches[0]}"?' if matches else f'Known: {", ".join(known)}')
            )


def value_of(item: Field, text: str) -> bool | int | float | str:
    """Return the value of a settings field from the command line of ros2 launch."""
    if isinstance(item.default, bool):
        return BOOLEANS[text]
    if isinstance(item.default, (int, float)):
        try:
            return type(item.default)(text)
        except ValueError:
            return text  # the settings report the mistake
    return text.lower() if text in BOOLEANS and text.lower() in item.metadata['choices'] else text


def actions_of(arguments: SimulationArguments | HilArguments | ShaperArguments) -> list[Action]:
    """
    Return the actions that start the programs of SimulationArguments or HilArguments.

    An optional program that is not installed is reported.
    """
    environment = dict(os.environ)
    (use_network if arguments.network else prepare_network)(environment)
    changes = {name: value for name, value in environment.items() if os.environ.get(name) != value}
    # launch only adds: set removed variables to an empty text
    changes.update({name: '' for name in os.environ if name not in environment})
    return [
        _node(program, changes)
        if program.is_needed or _is_installed(program)
        else LogInfo(
            msg=f'{program.package} is not installed, so {program.executable} is left out'
        )
        for program in arguments.programs()
    ]


def _is_installed(program):
    try:
        prefix = get_package_prefix(program.package)
    except PackageNotFoundError:
        return False
    return Path(prefix, 'lib', program.package, program.executable).exists()


def _node(program, environment):
    parameters = {name: _parameter(value) for name, value in program.parameters.items()}
    layout = ('-d', _write_layout(program.layout)) if program.layout else ()
    return Node(
        package=program.package,
        executable=program.executable,
        namespace=program.namespace,
        parameters=[*filter(None, [program.params_file]), parameters],
        remappings=program.remappings,
        arguments=(*layout, *program.arguments),
        # an enclave has an effect with ROS security only: docs/security.md
        ros_arguments=[
            '--log-level',
            program.log_level,
            '--enclave',
            f'/{NAME}/{program.executable}',
        ],
        output='screen',
        emulate_tty=True,
        additional_env=environment,
        on_exit=_shut_down if program.is_needed else None,
    )


def _write_layout(text):
    """Write a text to a temporary file that is not deleted, as launch does with parameters."""
    with tempfile.NamedTemporaryFile(
        'w', prefix='launch_layout_', suffix='.rviz', delete=False, encoding='utf-8'
    ) as file:
        file.write(text)
    return file.name


def _shut_down(event, context):
    """End the launch when a required program ends; raise RuntimeError if it has failed."""
    if event.returncode and not context.is_shutdown:
        # launch exits with 1 after an exception, and with 0 after any Shutdown
        raise RuntimeError(
            f'{event.process_name} has failed, and without it the others are of no use'
        )
    return Shutdown(reason=f'{event.process_name} has ended')


def _parameter(value):
    """Return a parameter value; texts are marked as such, else launch parses them as YAML."""
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value
