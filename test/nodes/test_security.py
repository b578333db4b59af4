"""ROS security: what the bridge checks before it arms, and the policies of config/."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bridge_bench import CALM, enable
from project_files import ROOT
from security_policy import read_policy, refused
from std_srvs.srv import SetBool

from flex_robot_sim.ros.security import ENCLAVE_FILES, GOVERNANCE, missing_security
from flex_robot_sim.system.processes import EXECUTABLES

ENCLAVE = '/flex_robot_sim/bridge'


@pytest.fixture
def keystore(tmp_path):
    """Return an environment that enforces ROS security, with the files of `ros2 security`."""
    folder = tmp_path / 'keys' / 'enclaves' / 'flex_robot_sim' / 'bridge'
    folder.mkdir(parents=True)
    for name in ENCLAVE_FILES:
        (folder / name).write_text('signed')
    rules = ''.join(f'<{name}>{value}</{name}>\n' for name, value in GOVERNANCE.items())
    (folder / 'governance.p7s').write_text(f'MIME-Version: 1.0\n{rules}')
    return {
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(tmp_path / 'keys'),
    }


def test_nothing_is_missing_where_security_is_enforced(keystore):
    assert missing_security(ENCLAVE, keystore) == ''


@pytest.mark.parametrize(
    'name, value, reason',
    [
        ('ROS_SECURITY_ENABLE', '1', 'ROS_SECURITY_ENABLE is not "true"'),
        ('ROS_SECURITY_STRATEGY', 'Permissive', 'ROS_SECURITY_STRATEGY is not "Enforce"'),
        ('ROS_SECURITY_KEYSTORE', '', 'ROS_SECURITY_KEYSTORE names no keystore'),
    ],
)
def test_a_variable_that_does_not_enforce_is_named(keystore, name, value, reason):
    assert missing_security(ENCLAVE, {**keystore, name: value}) == reason


def test_a_missing_key_and_a_weak_governance_are_named(keystore):
    folder = Path(keystore['ROS_SECURITY_KEYSTORE'], 'enclaves/flex_robot_sim')
    assert missing_security('/', keystore) == (
        f'{folder.parent / "identity_ca.cert.pem"} is missing'
    )
    governance = folder / 'bridge' / 'governance.p7s'
    text = governance.read_text()
    for weak in (text.replace('>false<', '>true<'), text + text.replace('>false<', '>true<'), ''):
        governance.write_text(weak)
        assert missing_security(ENCLAVE, keystore) == (
            f'{governance} does not set allow_unauthenticated_participants to false'
        )
    (folder / 'bridge' / 'key.pem').unlink()
    assert missing_security(ENCLAVE, keystore) == f'{folder / "bridge" / "key.pem"} is missing'


def test_the_bridge_does_not_arm_without_security_where_that_is_asked_for(
    emulator, observer, start
):
    process = start('bridge', **CALM, serial_port=emulator.link, arm_only_if_secure='true')
    process.wait_for_line('disarmed, call ~/enable')
    answer = enable(observer)
    assert not answer.success and answer.message == (
        'the bench is not armed without ROS security: ROS_SECURITY_ENABLE is not "true". Start '
        'the bridge as docs/security.md shows, or without arm_only_if_secure'
    )
    # by /observer, or by an unknown node where its name is not discovered yet
    process.wait_for_line('refused: enable is called by ')
    assert enable(observer, False).success  # every node may disarm
    assert refused(read_policy(), observer.node, 'bridge') == []
    assert process.stop()[0] == 0


def test_policies_cover_the_recorder(observer, start, tmp_path):
    process = start('recorder', output=tmp_path / 'run.mcap')
    process.wait_for_line('records into')
    observer.spin_until(lambda: ('recorder', '/') in observer.node.get_node_names_and_namespaces())
    assert refused(read_policy(), observer.node, 'recorder') == []
    assert process.stop(signal.SIGINT)[0] == 0 and process.count('Traceback') == 0


def test_every_executable_has_an_enclave_and_only_two_may_call_enable():
    policy = read_policy()
    assert set(EXECUTABLES) <= set(policy)
    assert {
        name for name, rules in policy.items() if {'/bridge/enable', '/*'} & set(rules['request'])
    } == {'operator', 'view'}
    assert {name for name, rules in policy.items() if '/joint_commands' in rules['publish']} == {
        'controller',
        'simulation',
    }


@pytest.mark.long
def test_a_keystore_that_does_not_work_is_one_line(tmp_path):
    # without keys rcl refuses, and with keys that are none, or without plugins, the middleware
    for folder in ('', 'enclaves/arm'):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name in ENCLAVE_FILES if folder else ():
            (tmp_path / folder / name).write_text('no key')
        done = subprocess.run(
            [sys.executable, '-m', 'flex_robot_sim.nodes', 'dynamics'],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                'ROS_SECURITY_ENABLE': 'true',
                'ROS_SECURITY_STRATEGY': 'Enforce',
                'ROS_SECURITY_KEYSTORE': str(tmp_path),
                'ROS_SECURITY_ENCLAVE_OVERRIDE': '/arm',
            },
        )
        lines = [line for line in done.stderr.splitlines() if 'dynamics: ' in line]
        assert done.returncode == 2 and len(lines) == 1, done.stderr
        assert 'Traceback' not in done.stderr and 'Warning' not in done.stderr


@pytest.mark.skipif(
    not shutil.which('ros2'),
    reason='needs `ros2 security` of SROS 2, and a '
    'middleware with security plugins, as an installed ROS has',
)
def test_a_client_without_keys_cannot_arm_the_bench(emulator, observer, start, tmp_path):
    done = subprocess.run(
        [
            'ros2',
            'security',
            'generate_artifacts',
            '-k',
            str(tmp_path),
            '-p',
            str(ROOT / 'config' / 'security_policy.xml'),
        ],
        capture_output=True,
    )
    if done.returncode:
        pytest.skip('`ros2 security` does not run here')
    secure = {
        **os.environ,
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(tmp_path),
    }
    bridge = start(
        'bridge',
        '--enclave',
        ENCLAVE,
        environment=secure,
        **CALM,
        serial_port=emulator.link,
        arm_only_if_secure='true',
    )
    bridge.wait_for_line('disarmed, call ~/enable')
    client = observer.node.create_client(SetBool, '/bridge/enable')
    assert not client.wait_for_service(5.0)
    call = subprocess.run(
        ['ros2', 'service', 'call', '/bridge/enable', 'std_srvs/srv/SetBool', '{data: true}'],
        env={**secure, 'ROS_SECURITY_ENCLAVE_OVERRIDE': '/flex_robot_sim/operator'},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert 'success=True' in call.stdout
