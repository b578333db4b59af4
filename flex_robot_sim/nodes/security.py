"""ROS security (SROS 2) as far as this process can check it: environment, keystore, governance."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:               # the checks themselves need no ROS
    from rclpy.node import Node

ENABLE, STRATEGY, KEYSTORE = (
    f'ROS_SECURITY_{word}' for word in ('ENABLE', 'STRATEGY', 'KEYSTORE'))
REQUIRED = {ENABLE: 'true', STRATEGY: 'Enforce'}    # as rcl compares them, letter by letter
KEYS = ('identity_ca.cert.pem', 'cert.pem', 'key.pem', 'permissions_ca.cert.pem',
        'governance.p7s', 'permissions.p7s')
GOVERNANCE = {'allow_unauthenticated_participants': 'false', 'enable_join_access_control': 'true'}


def missing_security(enclave: str, environment: Mapping[str, str] = os.environ) -> str:
    """
    Return what keeps ROS security from being enforced for this process; empty if nothing does.

    With `Enforce` rcl itself refuses to start a node whose keys are missing or damaged. This
    check finds that security is off, or that the governance admits participants without keys.

    :param enclave: of the process, such as /flex_robot_sim/bridge.
    """
    for name, value in REQUIRED.items():
        if environment.get(name) != value:
            return f'{name} is not "{value}"'
    if not environment.get(KEYSTORE):
        return f'{KEYSTORE} names no keystore'
    folder = Path(environment[KEYSTORE], 'enclaves', enclave.strip('/'))
    for name in KEYS:
        if not (folder / name).is_file():
            return f'{folder / name} is missing'
    try:
        governance = (folder / 'governance.p7s').read_text('utf-8', 'replace')
    except OSError as error:
        return f'{folder / "governance.p7s"}: {error.strerror}'
    for name, value in GOVERNANCE.items():
        found = set(re.findall(rf'<{name}>\s*(\w+)\s*</{name}>', governance))
        if found != {value}:
            return f'{folder / "governance.p7s"} does not set {name} to {value}'
    return ''


def is_security_enabled(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment enables ROS security."""
    return environment.get(ENABLE) == REQUIRED[ENABLE]


def enclave_of(node: Node) -> str:
    """Return the enclave in which `node` runs; / where it has none."""
    own = node.get_name(), node.get_namespace()
    for name, namespace, enclave in node.get_node_names_and_namespaces_with_enclaves():
        if (name, namespace) == own:
            return enclave
    return '/'
