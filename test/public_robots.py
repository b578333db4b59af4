"""Public robots: descriptions of the wheel example-robot-data, if it is installed."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

INSTALL = './run test --robots installs them'


def _folder():
    """Return the folder of the descriptions; None if the wheel is not installed."""
    try:
        wheel = distribution('example-robot-data')
    except PackageNotFoundError:
        return None
    return Path(str(wheel.locate_file('cmeel.prefix/share/example-robot-data/robots')))


ROBOTS = _folder()
HEADER = f'public robots are on: {ROBOTS}' if ROBOTS else f'public robots are off: {INSTALL}'


def public_robot(path):
    """Return the path of a description in the wheel, or skip the test."""
    if ROBOTS is None:
        pytest.skip(f'no example-robot-data: {INSTALL}')
    return ROBOTS / path


def plain_robot(path):
    """Return the text of a description in the wheel, without friction, stops, and shapes."""
    text = public_robot(path).read_text('utf-8')
    for word in ('visual', 'collision', 'transmission', 'gazebo', 'dynamics', 'safety_controller'):
        text = re.sub(rf'<{word}\b[^>]*?(/>|>.*?</{word}>)', '', text, flags=re.DOTALL)
    text = re.sub('lower="[^"]*"', 'lower="-9"', text)
    return re.sub('upper="[^"]*"', 'upper="9"', text)
