"""Settings with wild values, by ROS and by YAML: one line, or settings that keep their bounds."""

import math
from dataclasses import fields

import numpy as np
import pytest
import rclpy
import yaml
from rclpy.exceptions import ParameterException
from rclpy.parameter import Parameter

from flex_robot_sim.nodes.bridge_settings import BRIDGE_SETTINGS
from flex_robot_sim.nodes.settings import (
    CONTROLLER_SETTINGS,
    DRIFT_SETTINGS,
    DYNAMICS_SETTINGS,
    RECORDER_SETTINGS,
    SHAPER_SETTINGS,
    TRAJECTORY_ACTION_SETTINGS,
    VIEW_SETTINGS,
)
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import read_yaml, settings_from

SEED = 20261125
NODES = (
    DYNAMICS_SETTINGS,
    CONTROLLER_SETTINGS,
    SHAPER_SETTINGS,
    BRIDGE_SETTINGS,
    VIEW_SETTINGS,
    DRIFT_SETTINGS,
    RECORDER_SETTINGS,
    TRAJECTORY_ACTION_SETTINGS,
)
KINDS = sorted({kind for kinds in NODES for kind in kinds}, key=lambda kind: kind.__name__)
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf]
WHOLE = [0, 1, -1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
WORDS = ['', ' ', 'nan', '1e9', 'none', 'auto', 'a' * 5000, 'a\nb', '\x1b[31m', '٣', '\u202e']


def wild_value(random):
    """Return a value of a kind that ROS knows."""
    kind = random.integers(7)
    if kind == 0:
        return bool(random.integers(2))
    lists: dict = {1: NUMBERS, 2: WHOLE, 3: WORDS}
    choices = lists[1 + (kind - 1) % 3]
    if kind < 4:
        return choices[random.integers(len(choices))]
    return [choices[random.integers(len(choices))] for _ in range(random.integers(5))]


def assert_bounds_hold(settings):
    """Check numbers against the bounds of their fields, without the code that refuses."""
    for item in fields(settings):
        value, about = getattr(settings, item.name), item.metadata
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, (str, bool)):
                continue
            assert math.isfinite(number)
            assert about['at_least'] is None or number >= about['at_least']
            assert about['at_most'] is None or number <= about['at_most']
            assert about['above'] is None or number > about['above']


@pytest.fixture
def context(no_observer):
    """A context of ROS."""
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    rclpy.try_shutdown(context=context)


def test_wild_parameters_are_refused_in_one_line_or_keep_their_bounds(context, mutants):
    count = mutants // 20
    random, refused = np.random.default_rng(SEED), 0
    for k, kinds in enumerate(NODES):
        node = rclpy.create_node(f'wild_{k}', context=context)
        parameters = Parameters(node, *kinds)
        names = [item.name for kind in kinds for item in fields(kind)]
        for _ in range(count // (2 * len(NODES))):
            result = node.set_parameters_atomically(
                [
                    Parameter(names[random.integers(len(names))], value=wild_value(random))
                    for _ in range(random.integers(1, 3))
                ]
            )
            refused += not result.successful
            assert result.successful or (result.reason and '\n' not in result.reason)
            for kind in kinds:
                assert_bounds_hold(parameters[kind])
        node.destroy_node()
    assert refused > count / 8


def test_a_node_with_a_wild_parameter_starts_or_names_it_in_one_line(context, mutants):
    count = mutants // 20
    random, refused = np.random.default_rng(SEED + 1), 0
    for k in range(max(count // 50, 20)):
        kinds = NODES[random.integers(len(NODES))]
        items = [item for kind in kinds for item in fields(kind)]
        name = items[random.integers(len(items))].name
        node = rclpy.create_node(
            f'start_{k}',
            context=context,
            parameter_overrides=[Parameter(name, value=wild_value(random))],
        )
        try:
            parameters = Parameters(node, *kinds)
        except (SettingError, ParameterException) as error:
            refused += 1
            assert name in str(error)
        else:
            for kind in kinds:
                assert_bounds_hold(parameters[kind])
        node.destroy_node()
    assert refused > 5


def test_wild_yaml_is_refused_in_one_line_or_keeps_the_bounds(tmp_path, mutants):
    count = mutants // 20
    random, refused, file = np.random.default_rng(SEED + 2), 0, tmp_path / 'wild.yaml'
    for _ in range(count):
        kind = KINDS[random.integers(len(KINDS))]
        names = [item.name for item in fields(kind)]
        name = names[random.integers(len(names))]
        text = yaml.safe_dump({name: wild_value(random)}, allow_unicode=True)
        if random.random() < 0.2:
            text = text[: random.integers(len(text))] + str(
                random.choice(['9' * 400, '[' * 50, '{', '- ', '!!float x', '&a *a', ': ', '\t'])
            )
        file.write_text(text, 'utf-8')
        try:
            settings = settings_from(kind, read_yaml(file), file)
        except SettingError as error:
            refused += 1
            assert '\n' not in str(error) and len(str(error)) < 1500
        else:
            assert_bounds_hold(settings)
    assert refused > count / 10
