"""
Generated parts of the pages of ROS and of config/security_policy.xml.

They follow from the tables of topics and services, from the settings of the nodes, and from the
arguments of the launch files. `python docs/reference_tables.py` writes all of them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields
from functools import partial
from pathlib import Path

from flex_robot_sim.nodes.bridge_settings import BRIDGE_SETTINGS
from flex_robot_sim.nodes.settings import (
    CONTROLLER_SETTINGS,
    DRIFT_SETTINGS,
    DYNAMICS_SETTINGS,
    SHAPER_SETTINGS,
    TRAJECTORY_ACTION_SETTINGS,
    VIEW_SETTINGS,
)
from flex_robot_sim.ros.node_settings import MessageSettings, NodeSettings, RobotSettings
from flex_robot_sim.ros.services import SERVICES
from flex_robot_sim.ros.topics import PLACEHOLDERS, published_by, subscribed_by
from flex_robot_sim.system.launch_arguments import (
    HilArguments,
    ShaperArguments,
    SimulationArguments,
)

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(ROOT / 'docs' / f'{name}.md' for name in ('ros', 'ros_shaper', 'rig_bridge'))
POLICY = ROOT / 'config' / 'security_policy.xml'
MARK = re.compile(r'(<!-- table: (\w+) (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)

SETTINGS = {
    'dynamics': DYNAMICS_SETTINGS,
    'controller': CONTROLLER_SETTINGS,
    'shaper': SHAPER_SETTINGS,
    'trajectory_action': TRAJECTORY_ACTION_SETTINGS,
    'view': VIEW_SETTINGS,
    'drift': DRIFT_SETTINGS,
    'bridge': BRIDGE_SETTINGS,
}
SHARED = [kind for kind in DYNAMICS_SETTINGS if kind in CONTROLLER_SETTINGS]
ALL_NODES = RobotSettings, MessageSettings, NodeSettings
OWN_SETTINGS: dict[str, Sequence[type]] = {
    'shared': SHARED,
    **{
        node: [kind for kind in kinds if kind not in (*SHARED, *ALL_NODES)]
        for node, kinds in SETTINGS.items()
    },
    'bridge': [kind for kind in BRIDGE_SETTINGS if kind not in (RobotSettings, NodeSettings)],
}
"""Settings classes by table of the pages."""

ARGUMENTS = {'simulation': SimulationArguments, 'shaper': ShaperArguments, 'hil': HilArguments}
KINDS = {bool: 'true or false', int: 'whole number', float: 'number', str: 'text'}
LIST_KINDS = {float: 'numbers', str: 'texts'}

# topics of rclpy, which every node has
PUBLISHED_BY_ALL = '/rosout', '/parameter_events'
SUBSCRIBED_BY_ALL = '/parameter_events', '/clock'
PROCESSES = {**{node: (node,) for node in SETTINGS}, 'simulation': ('dynamics', 'controller')}
"""Nodes of each process with an enclave."""


def main() -> None:
    """Write the files of the source tree."""
    for path, fill in (*((page, fill_page) for page in PAGES), (POLICY, fill_policy)):
        path.write_text(fill(path.read_text('utf-8')), 'utf-8')


def fill_page(page: str) -> str:
    """Return a page with regenerated tables."""
    return MARK.sub(lambda found: found[1] + TABLES[found[2]](found[3]) + found[4], page)


def _filled(rows, found):
    return found[1] + rows + found[2]


def fill_policy(policy: str) -> str:
    """Return the security policy with regenerated topics."""
    for process, nodes in PROCESSES.items():
        published = [topic.name for node in nodes for topic, _ in published_by(node)]
        subscribed = [topic.name for node in nodes for topic, _ in subscribed_by(node)]
        for rule, names in (
            ('publish', [*published, *PUBLISHED_BY_ALL]),
            ('subscribe', [*subscribed, *SUBSCRIBED_BY_ALL]),
        ):
            rows = ''.join(
                f'{" " * 12}<topic>{PLACEHOLDERS.sub("*", name)}</topic>\n'
                for name in dict.fromkeys(names)
            )
            policy = re.sub(
                rf'(<enclave path="/flex_robot_sim/{process}">.*?'
                rf'<topics {rule}="ALLOW">\n).*?( *</topics>)',
                partial(_filled, rows),
                policy,
                count=1,
                flags=re.DOTALL,
            )
    return policy


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    return (
        ''.join(f'| {" | ".join(row)} |\n' for row in (head, ['---'] * len(head), *rows))
        .replace('| --- ', '|---')
        .replace('|--- |', '|---|')
    )


def _published(node):
    defaults = {item.name: item.default for kind in SETTINGS[node] for item in fields(kind)}
    return _rows(
        ('topic', 'type', 'rate', 'QoS', 'meaning'),
        [
            (
                _code(topic.name),
                _code(topic.kind),
                f'{defaults[use.rate]:g} Hz (`{use.rate}`)' if use.rate in defaults else use.rate,
                str(topic.quality),
                use.meaning,
            )
            for topic, use in published_by(node)
        ],
    )


def _subscribed(node):
    return _rows(
        ('topic', 'type', 'QoS', 'meaning'),
        [
            (_code(topic.name), _code(topic.kind), str(use.quality), use.meaning)
            for topic, use in subscribed_by(node)
        ],
    )


def _services(node):
    nodes = PROCESSES[node]
    return _rows(
        ('service', 'type', 'meaning'),
        [
            (_code(service.name), _code(service.kind), service.meaning)
            for service in SERVICES
            if service.node in nodes
        ],
    )


def _parameters(group):
    return _rows(
        ('parameter', 'kind', 'default', 'bounds', 'live', 'meaning'),
        [_parameter(item) for kind in OWN_SETTINGS[group] for item in fields(kind)],
    )


def _parameter(item: Field) -> list[str]:
    about = item.metadata
    kind = LIST_KINDS[about['of']] if about['of'] else KINDS[type(item.default)]
    bounds = ', '.join(map(_code, about['choices']))
    if about['above'] is not None:
        bounds = f'> {about["above"]:g}'
    if about['at_least'] is not None:
        bounds = f'>= {about["at_least"]:g}'
    if about['at_most'] is not None:
        lowest = f'> {about["above"]:g}' if about['at_least'] is None else f'{about["at_least"]:g}'
        bounds = f'{lowest} to {about["at_most"]:g}'
    unit = f' [{about["unit"]}]' if about['unit'] else ''
    row = (
        _code(item.name),
        kind,
        _code(_written(item.default)),
        bounds,
        'live' if about['live'] else '',
        f'{about["help"]}{unit}',
    )
    return [cell.replace('<', r'\<') for cell in row]


def _arguments(name):
    return _rows(
        ('argument', 'default', 'choices', 'meaning'),
        [
            (
                _code(item.name),
                _code(_written(item.default)),
                ', '.join(
                    map(
                        _code,
                        (
                            ('true', 'false')
                            if isinstance(item.default, bool)
                            else item.metadata['choices']
                        ),
                    )
                ),
                item.metadata['help'],
            )
            for item in fields(ARGUMENTS[name])
        ],
    )


def _code(text):
    return f'`{text}`' if text else ''


def _written(value):
    if isinstance(value, tuple):
        return f'[{", ".join(map(_written, value))}]'
    return str(value).lower() if isinstance(value, bool) else str(value)


TABLES: dict[str, Callable[[str], str]] = {
    'published': _published,
    'subscribed': _subscribed,
    'services': _services,
    'parameters': _parameters,
    'arguments': _arguments,
}


if __name__ == '__main__':
    main()
