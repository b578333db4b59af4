"""
Packaging for `colcon build` and `pip install`.

package.xml states name, version, description, maintainer, licence and address of the repository.
"""

import os
import re
from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import Distribution, find_packages, setup

FOLDER = Path(__file__).parent
MANIFEST = ElementTree.parse(FOLDER / 'package.xml').getroot()
NAME, VERSION, DESCRIPTION, DEVELOPERS, LICENSE, REPOSITORY = (
    MANIFEST.findtext(word)
    for word in ('name', 'version', 'description', 'maintainer', 'license', 'url')
)
EMAIL = MANIFEST.findall('maintainer')[0].get('email')


def absolute_links(text):
    """Return a page of the repository with links that work on the page of the registry, too."""
    text = re.sub(r'(!\[[^\]]*\]\()(?!https?:|#)', rf'\g<1>{REPOSITORY}/raw/main/', text)
    return re.sub(r'(?<=\]\()(?!https?:|#)', f'{REPOSITORY}/blob/main/', text)


# What `ros2 launch` and `flexsim` find through the share folder, one line per source folder.
SHARED_FOLDERS = (
    'config',
    'config/layouts',
    'config/robots',
    'examples',
    'launch',
    'meshes/printed_arm',
    'urdf',
)

# The firmware is built where it is used; what a build leaves behind stays here.
FIRMWARE = {
    folder: [os.path.join(folder, name) for name in sorted(names)]
    for folder, _, names in os.walk('firmware')
    if 'build' not in folder.split(os.sep)
}

# The headers of the C++ core of shapers
CORE = {
    folder: [os.path.join(folder, name) for name in sorted(names)]
    for folder, _, names in os.walk('cpp')
}


class DistributionWithData(Distribution):
    """A distribution of which `pip install -e` installs the data files too."""

    has_data = Distribution.has_data_files  # what setuptools asks, and does not define


setup(
    distclass=DistributionWithData,
    name=NAME,
    version=VERSION,
    description=DESCRIPTION,
    long_description=absolute_links((FOLDER / 'README.md').read_text('utf-8')),
    long_description_content_type='text/markdown',
    url=REPOSITORY,
    project_urls={
        'Changelog': f'{REPOSITORY}/blob/main/CHANGELOG.rst',
        'Issues': f'{REPOSITORY}/issues',
    },
    classifiers=[
        'Intended Audience :: Science/Research',
        'License :: OSI Approved :: Apache Software License',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3 :: Only',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 14)),
        'Topic :: Scientific/Engineering :: Physics',
    ],
    keywords=['robotics', 'ROS 2', 'flexible links', 'flexible joints', 'input shaping', 'URDF'],
    author=DEVELOPERS,
    author_email=EMAIL,
    maintainer=DEVELOPERS,
    maintainer_email=EMAIL,
    license=LICENSE,
    python_requires='>=3.10',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    # so that type checkers of users look in here; and what pages are made of
    package_data={NAME: ['py.typed', 'reports/page.*']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        *((f'share/{NAME}/{folder}', sorted(glob(f'{folder}/*.*'))) for folder in SHARED_FOLDERS),
        *((f'share/{NAME}/{folder}', paths) for folder, paths in {**FIRMWARE, **CORE}.items()),
        # what `ros2 run` and `ros2 launch` start; not on PATH: iproute2 has a `bridge`, too
        (f'lib/{NAME}', sorted(glob('programs/*'))),
    ],
    install_requires=[
        'lxml>=4.8',
        'matplotlib>=3.5',
        'mcap>=1.6',
        'numba>=0.55,<0.69',  # tested: 0.55.1 (test/oldest.txt) to 0.68.1
        'numpy>=1.21',
        'pyserial>=3.5',
        'PyYAML>=5.4',
        'scipy>=1.8',
        'xacro>=2.0',
    ],
    extras_require={
        'ros': [
            'ros-jazzy-rclpy[fastrtps]==7.1.6',
            'ros-jazzy-diagnostic-msgs==5.3.6',
            'ros-jazzy-geometry-msgs==5.3.6',
            'ros-jazzy-nav-msgs==5.3.6',
            'ros-jazzy-sensor-msgs==5.3.6',
            'ros-jazzy-std-srvs==5.3.6',
            'ros-jazzy-trajectory-msgs==5.3.6',
            'ros-jazzy-visualization-msgs==5.3.6',
        ],
        'benchmark': ['exudyn>=1.13', 'mujoco>=3.2', 'pin>=3.0'],
        'control': ['control>=0.9'],
        'cluster': ['distributed>=2022.2'],
        'learn': ['gymnasium>=1.1'],
        'fem': ['netgen-mesher>=6.2.2506', 'meshio>=5.3'],
        # meshes of the kind .dae are read by pycollada
        'view': ['pycollada>=0.7', 'viser>=1.1.1,<1.2'],
        'colcon': ['colcon-core>=0.18', 'colcon-ros>=0.5'],
        'docs': ['furo', 'myst-parser>=3', 'sphinx>=7', 'sphinx-mathjax-offline'],
        'release': ['twine>=6', 'uv>=0.8'],
        # jerk-limited profiles, for comparison with shapers
        'ruckig': ['ruckig>=0.14'],
        # robots of other people, for tests
        'robots': ['example-robot-data>=6.0', 'mujoco>=3.2'],
        'test': [
            'argcomplete>=1.8',
            'control>=0.9',
            'distributed>=2022.2; python_version >= "3.11"',
            'exudyn>=1.13; python_version >= "3.11"',
            'gymnasium>=1.1; python_version >= "3.11"',
            'hypothesis',
            'mcap-ros2-support',
            'meshio>=5.3; python_version >= "3.11"',
            'mypy>=2.4; python_version >= "3.11"',
            'pin>=3.0; python_version >= "3.11"',
            'mpmath',
            'netgen-mesher>=6.2.2506; python_version >= "3.11"',
            'pandas',
            'pyarrow; python_version >= "3.11"',
            'pycollada>=0.7',
            'pytest',
            'pytest-xdist>=2.5',
            'rosbags; python_version >= "3.11"',
            'ruckig>=0.14',
            'ruff',
            'scikit-fem>=10; python_version >= "3.11"',
            'selenium>=4.11',
            'urdf-parser-py',
            'viser>=1.1.1,<1.2',
            'yourdfpy>=0.0.60; python_version >= "3.11"',
        ],
    },
    zip_safe=False,
    entry_points={'console_scripts': ['flexsim = flex_robot_sim.start:main']},
)
