"""
Types of control_msgs and tf2_msgs for tests over DDS, where these packages are not installed.

No wheel has them. The wheels of rclpy have the generators, headers and libraries that build the
types from the fields below. `python test/message_packages.py PACKAGE FOLDER` builds one package.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import numpy

TOLERANCE = """
float64 position
float64 velocity
float64 acceleration
"""
CONTROL_MSGS = {
    'msg/JointTolerance.msg': 'string name' + TOLERANCE,
    'msg/JointComponentTolerance.msg': """
uint16 X_AXIS=1
uint16 Y_AXIS=2
uint16 Z_AXIS=3
uint16 TRANSLATION=4
uint16 ROTATION=5
string joint_name
uint16 component"""
    + TOLERANCE,
    'action/FollowJointTrajectory.action': """
trajectory_msgs/JointTrajectory trajectory
trajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory
JointTolerance[] path_tolerance
JointComponentTolerance[] component_path_tolerance
JointTolerance[] goal_tolerance
JointComponentTolerance[] component_goal_tolerance
builtin_interfaces/Duration goal_time_tolerance
---
int32 error_code
int32 SUCCESSFUL = 0
int32 INVALID_GOAL = -1
int32 INVALID_JOINTS = -2
int32 OLD_HEADER_TIMESTAMP = -3
int32 PATH_TOLERANCE_VIOLATED = -4
int32 GOAL_TOLERANCE_VIOLATED = -5
string error_string
---
std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint desired
trajectory_msgs/JointTrajectoryPoint actual
trajectory_msgs/JointTrajectoryPoint error
int32 index
string[] multi_dof_joint_names
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_desired
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_actual
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error
int32 multi_dof_index
""",
}
PACKAGES = {
    'control_msgs': CONTROL_MSGS,
    'tf2_msgs': {'msg/TFMessage.msg': 'geometry_msgs/TransformStamped[] transforms\n'},
}
SUPPORTS = 'rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c'
INSTALLED = {name for name in PACKAGES if find_spec(name)}  # before tests import those built


def folder_of(package):
    """Return a folder for PYTHONPATH; '': the package is installed; None: it cannot be built."""
    if package in INSTALLED:
        return ''
    if find_spec('rosidl_generator_py') is None or not all(map(shutil.which, ('gcc', 'g++'))):
        return None
    built = Path(sys.prefix, f'{package}_for_tests')  # later runs reuse it
    if not built.exists():
        folder = Path(f'{built}.{os.getpid()}')
        build_process = subprocess.run(
            [sys.executable, __file__, package, str(folder)], capture_output=True, text=True
        )
        if build_process.returncode:
            print(build_process.stdout, build_process.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            return None
        try:
            folder.rename(built)
        except OSError:  # another process of tests has built it
            shutil.rmtree(folder)
    return str(built / 'py')


def build(package, folder):
    """Generate the sources of the types and compile them."""
    os.environ['AMENT_PREFIX_PATH'] = sys.prefix
    from rosidl_cli.command.translate.api import translate
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_generator_type_description.cli import HashTypeDescription
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    share, idl = str(Path(sys.prefix, 'share')), folder / 'idl'
    for name, fields in PACKAGES[package].items():
        (idl / name).parent.mkdir(parents=True, exist_ok=True)
        (idl / name).write_text(fields)
    translate(
        package_name=package,
        interface_files=[f'{idl}:{name}' for name in PACKAGES[package]],
        include_paths=[share],
        output_format='idl',
        output_path=idl,
    )
    files = [f'{idl}:{Path(name).with_suffix(".idl")}' for name in PACKAGES[package]]
    HashTypeDescription('hash').generate_type_hashes(package, files, [share], folder / 'hash')
    hashes = [str((folder / 'hash' / name).with_suffix('.json')) for name in PACKAGES[package]]
    generators = {
        'c': GenerateC('c'),
        'fastrtps': GenerateFastRTPSCTypesupport('fastrtps_c'),
        'introspection': GenerateIntrospectionCTypesupport('introspection_c'),
        'support': GenerateCTypesupport('c', typesupport_implementations=[*SUPPORTS]),
        'py': GeneratePython('py', typesupport_implementations=['rosidl_typesupport_c']),
    }
    for name, generator in generators.items():
        arguments = {
            'package_name': package,
            'interface_files': [*files],
            'include_paths': [share],
            'output_path': folder / name / package,
        }
        if name == 'c':
            arguments['type_description_files'] = hashes
        generator.generate(**arguments)
    compile_sources(package, folder)


def compile_sources(name_of_package, folder):
    """Compile the sources into one library, and link it under the names that rmw looks up."""
    package = folder / 'py' / name_of_package
    package.joinpath('__init__.py').write_text('')
    include, lib = Path(sys.prefix, 'include'), Path(sys.prefix, 'lib')
    includes = [
        *(folder / name for name in ('c', 'fastrtps', 'introspection', 'support')),
        *(each for each in sorted(include.iterdir()) if each.is_dir()),
        include,
        Path(sysconfig.get_path('include')),
        Path(numpy.get_include()),
    ]
    objects: list = []
    for source in sorted(each for each in folder.rglob('*.c*') if each.suffix in ('.c', '.cpp')):
        objects.append(str(folder / f'{len(objects)}.o'))
        compiler = ['g++', '-std=c++17'] if source.suffix == '.cpp' else ['gcc', '-std=c11']
        subprocess.run(
            [
                *compiler,
                '-O0',
                '-w',
                '-fPIC',
                '-c',
                str(source),
                '-o',
                objects[-1],
                *(f'-I{each}' for each in includes),
            ],
            check=True,
        )
    libraries = [
        str(each)
        for each in sorted(lib.glob('lib*.so'))
        if 'rosidl' in each.name
        and '_cpp' not in each.name
        or each.name
        in ('librosidl_typesupport_fastrtps_cpp.so', 'librmw.so', 'librcutils.so', 'libfastcdr.so')
    ]

    def link(name, parts):
        subprocess.run(
            [
                'g++',
                '-shared',
                '-o',
                str(package / name),
                f'-Wl,-soname,{name}',
                '-Wl,--no-as-needed',
                *parts,
                f'-Wl,-rpath,$ORIGIN:{lib}',
            ],
            check=True,
        )
        return str(package / name)

    whole = link(f'lib{name_of_package}.so', objects + libraries)
    parts = [link(f'lib{name_of_package}__{support}.so', [whole]) for support in SUPPORTS]
    link(
        f'{name_of_package}_s__rosidl_typesupport_c{sysconfig.get_config_var("EXT_SUFFIX")}',
        [whole, *parts],
    )


if __name__ == '__main__':
    build(sys.argv[1], Path(sys.argv[2]).resolve())
