"""ROS security (SROS 2) as far as this process can check it: environment, keystore, governance."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `missing_security` works without ROS
    from rclpy.node import Node

ENABLE_VARIABLE, STRATEGY_VARIABLE, KEYSTORE_VARIABLE = (
    f'ROS_SECURITY_{word}' for word in ('ENABLE', 'STRATEGY', 'KEYSTORE')
)
REQUIRED = {ENABLE_VARIABLE: 'true', STRATEGY_VARIABLE: 'Enforce'}  # case-sensitive in rcl
ENCLAVE_FILES = (
    'identity_ca.cert.pem',
    'cert.pem',
    'key.pem',
    'permissions_ca.cert.pem',
    'governance.p7s',
    'permissions.p7s',
)
GOVERNANCE = {'allow_unauthenticated_participants': 'false', 'enable_join_access_control': 'true'}


def missing_security(enclave: str, environment: Mapping[str, str] = os.environ) -> str:
    """
    Return the reason why ROS security is not enforced for this process; empty if it is.

    With `Enforce` rcl itself refuses to start a node whose keys are missing or damaged. This
    check finds that security is off, or that the governance admits participants without keys.
    """
    for name, value in REQUIRED.items():
        if environment.get(name) != value:
            return f'{name} is not "{value}"'
    if not environment.get(KEYSTORE_VARIABLE):
        return f'{KEYSTORE_VARIABLE} names no keystore'
    folder = Path(environment[KEYSTORE_VARIABLE], 'enclaves', enclave.strip('/'))
    for name in ENCLAVE_FILES:
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


def is_security_enabled() -> bool:
    """Whether the environment enables ROS security."""
    return os.environ.get(ENABLE_VARIABLE) == REQUIRED[ENABLE_VARIABLE]


def enclave_of(node: Node) -> str:
    """Return the enclave of `node`; / if it has none."""
    own_name = node.get_name(), node.get_namespace()
    return next(
        (
            enclave
            for *name, enclave in node.get_node_names_and_namespaces_with_enclaves()
            if tuple(name) == own_name
        ),
        '/',
    )
