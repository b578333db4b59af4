"""The policy of config/security_policy.xml as DDS applies it to the topics of running nodes."""

import xml.etree.ElementTree as ET
from fnmatch import fnmatchcase

from project_files import ROOT

PREFIX = '/flex_robot_sim/'
GROUPS = {
    'publish': 'topics',
    'subscribe': 'topics',
    'reply': 'services',
    'request': 'services',
    'execute': 'actions',
    'call': 'actions',
}
# topics and services of an action, which the rules about it allow
ACTION_TOPICS, ACTION_SERVICES = ('feedback', 'status'), ('send_goal', 'cancel_goal', 'get_result')
PARTS_OF_ACTIONS = {
    'publish': ('execute', ACTION_TOPICS),
    'subscribe': ('call', ACTION_TOPICS),
    'reply': ('execute', ACTION_SERVICES),
    'request': ('call', ACTION_SERVICES),
}


def read_policy():
    """Return {enclave: {rule: [patterns of full names]}}."""
    policy = {}
    tree = ET.parse(ROOT / 'config' / 'security_policy.xml')
    for enclave in tree.iter('enclave'):
        profile = enclave.find('profiles/profile')
        policy[enclave.get('path').removeprefix(PREFIX)] = {
            rule: [
                _full_name(item.text, profile.get('node'))
                for group in profile.findall(kind)
                if group.get(rule) == 'ALLOW'
                for item in group
            ]
            for rule, kind in GROUPS.items()
        }
    return policy


def refused(policy, node, program):
    """
    Sorted (rule, name) that `program` uses and its enclave does not allow.

    :param policy: as `read_policy` returns it; node: node of the test, which discovers the graph.
    """
    used = {
        (rule, name)
        for rule, ask in (
            ('publish', node.get_publisher_names_and_types_by_node),
            ('subscribe', node.get_subscriber_names_and_types_by_node),
            ('reply', node.get_service_names_and_types_by_node),
            ('request', node.get_client_names_and_types_by_node),
        )
        for name, _ in ask(program, '/')
    }
    allowed = {
        rule: policy[program][rule]
        + [f'{action}/_action/{part}' for action in policy[program][of_action] for part in parts]
        for rule, (of_action, parts) in PARTS_OF_ACTIONS.items()
    }
    return sorted(
        (rule, name)
        for rule, name in used
        if not any(fnmatchcase(name, pattern) for pattern in allowed[rule])
    )


def _full_name(name, node):
    return f'/{node}{name[1:]}' if name.startswith('~/') else f'/{name.lstrip("/")}'
