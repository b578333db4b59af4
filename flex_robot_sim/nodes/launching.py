"""From the table of programs (system.py) to actions of ros2 launch; for the files in launch/."""

from dataclasses import fields
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, LogInfo, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

BOOLEANS = {'true': True, 'false': False, 'True': True, 'False': False}


def declared_arguments(kind):
    """Return a DeclareLaunchArgument per field of a settings class."""
    return [DeclareLaunchArgument(
        item.name, default_value=launch_text(item.default), description=item.metadata['help'],
        choices=choices_of(item)) for item in fields(kind)]


def choices_of(item):
    """Return what a launch argument may be, as a list of texts; None for anything."""
    if isinstance(item.default, bool):
        return list(BOOLEANS)
    return list(item.metadata['choices']) or None


def launch_text(value):
    """Return a value as it is written on the command line of ros2 launch."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def given_arguments(kind, context):
    """Return an object of the settings class with the arguments that `ros2 launch` was given."""
    values = {}
    for item in fields(kind):
        text = LaunchConfiguration(item.name).perform(context)
        values[item.name] = value_of(item, text)
    return kind(**values)


def value_of(item, text):
    """Return the value of a settings field from the command line of ros2 launch."""
    if isinstance(item.default, bool):
        return BOOLEANS[text]
    if isinstance(item.default, (int, float)):
        try:
            return type(item.default)(text)
        except ValueError:
            return text             # the settings say what is wrong with it
    return text


def actions_of(programs):
    """Return the actions that start Programs; one that is missing and not needed is named."""
    return [_node(program) if program.is_needed or _is_installed(program) else LogInfo(
        msg=f'{program.package} is not installed, so {program.executable} is left out')
        for program in programs]


def _is_installed(program):
    try:
        prefix = get_package_prefix(program.package)
    except PackageNotFoundError:
        return False
    return Path(prefix, 'lib', program.package, program.executable).exists()


def _node(program):
    parameters = {name: _parameter(value) for name, value in program.parameters.items()}
    return Node(
        package=program.package, executable=program.executable, namespace=program.namespace,
        parameters=[*filter(None, [program.params_file]), parameters],
        remappings=program.remappings, arguments=program.arguments,
        ros_arguments=['--log-level', program.log_level], output='screen', emulate_tty=True,
        on_exit=_end_all if program.is_needed else None)


def _end_all(event, context):
    """End the launch with a program that is needed; where it has failed the launch has, too."""
    if event.returncode and not context.is_shutdown:
        # launch ends with exit code 1 after an exception, and with 0 whatever Shutdown is told
        raise RuntimeError(f'{event.process_name} has failed, and without it the others are of '
                           'no use')
    return Shutdown(reason=f'{event.process_name} has ended')


def _parameter(value):
    """Text stays text, which launch would read as YAML otherwise."""
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value
