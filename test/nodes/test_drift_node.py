"""The drift watch over DDS: an arm that has become softer than the robot it is taken for."""

import pytest
from bridge_bench import CALM
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from ros_observer import figures
from sensor_msgs.msg import JointState

from flex_robot_sim.util.share import shipped_robots

POSES = '[0.4, 0.4, -0.6, -0.3, 0.1, -0.2]'
SOFT = 0.85
# with the default gains the servo damps the vibration within half a period
SLOW_SERVO = {'bandwidth': 5.0}


def of_drift(message):
    return message.status[0].name == '/drift: stiffness'


@pytest.mark.long
def test_softer_arm_is_reported_and_silence_before_it(start, observer, tmp_path):
    text = shipped_robots()['two_link'].read_text('utf-8')
    soft = tmp_path / 'soft.urdf'
    for young in (69e9, 206e9):
        assert f'E="{young / 1e9:g}e9"' in text
        text = text.replace(f'E="{young / 1e9:g}e9"', f'E="{SOFT * young:.6g}"')
    soft.write_text(text, 'utf-8')
    watch = start('drift', robot='two_link', drift_stops=2)
    watch.wait_for_line('two_link: slowest mode 2.')
    first = observer.hear(DiagnosticArray, '/diagnostics', of_drift)
    assert first.status[0].level == DiagnosticStatus.STALE
    assert first.status[0].message == 'no strain with joint states arrives'
    start(
        'simulation',
        robot=str(soft),
        profile='swing',
        profile_poses=POSES,
        profile_duration=0.8,
        profile_dwell=5.5,
        **SLOW_SERVO,
    )
    report = observer.hear(
        DiagnosticArray,
        '/diagnostics',
        lambda message: of_drift(message) and message.status[0].level == DiagnosticStatus.WARN,
    )
    assert report.status[0].message.startswith('vibrates ')
    assert 'slower than its model in 2 stops in a row: softer than described' in (
        report.status[0].message
    )
    seen = figures(report)
    # all links alike: the root of the stiffness; drives are known 50 times a second
    assert float(seen['frequency over expected']) == pytest.approx(SOFT**0.5, abs=0.02)
    assert abs(float(seen['payload [kg]'])) < 0.05
    watch.wait_for_line('slower than its model in 2 stops')
    assert watch.stop()[0] == 0


@pytest.mark.long
def test_a_bench_is_watched_by_what_its_bridge_sends(start, observer):
    start('bridge', **CALM)
    watch = start('drift', robot='rig')
    watch.wait_for_line('rig: slowest mode 5.')
    # a bench at rest vibrates too little for an estimate, but the watch receives its states
    report = observer.hear(
        DiagnosticArray,
        '/diagnostics',
        lambda message: (
            of_drift(message) and message.status[0].message.startswith('no vibration measured yet')
        ),
    )
    assert report.status[0].level == DiagnosticStatus.STALE
    assert watch.count('refused') == 0 and watch.stop()[0] == 0


def test_arm_without_gauges_is_refused_in_one_line(refused, tmp_path):
    text = '\n'.join(
        line
        for line in shipped_robots()['two_link'].read_text('utf-8').splitlines()
        if '<flex_sensor' not in line
    )
    (tmp_path / 'arm.urdf').write_text(text, 'utf-8')
    assert refused('drift', robot=tmp_path / 'arm.urdf') == (
        'drift: two_link: has no flex sensor to watch it by. Give its links a <flex_sensor>'
    )


@pytest.mark.long
def test_what_is_of_another_robot_is_refused_in_one_line(start, observer):
    watch = start('drift', robot='two_link')
    watch.wait_for_line('two_link: slowest mode')
    strain = observer.publisher(JointState, 'strain')

    def is_reported():
        strain.publish(JointState(name=['boom/root'], position=[0.1]))
        return watch.count('refused: strain lacks the flex sensor "upper_arm/root"') > 0

    observer.spin_until(is_reported)
