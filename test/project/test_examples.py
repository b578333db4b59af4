"""The examples run as they stand, say what they should, and leave their picture."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from node_processes import NodeProcess
from project_files import ROOT

sys.path.insert(0, str(ROOT / 'docs'))
from program_pictures import PROGRAMS

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / 'examples'
NUMBER = re.compile(r'[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?')
PATIENCE = 300.0  # with what has to be compiled                                  [s]


@pytest.fixture
def output(tmp_path):
    """Return a function from the name of an example to the numbers of each line it prints."""

    def run(name):
        picture = tmp_path / f'{name}.png'
        done = subprocess.run(
            [sys.executable, EXAMPLES / f'{name}.py', picture],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            timeout=PATIENCE,
            env={**os.environ, 'MPLBACKEND': 'Agg'},
        )
        assert (done.returncode, done.stderr) == (0, '')
        assert picture.read_bytes().startswith(b'\x89PNG')
        assert [path.name for path in tmp_path.iterdir()] == [picture.name]
        return [
            [float(number) for number in NUMBER.findall(line)] for line in done.stdout.splitlines()
        ]

    return run


@pytest.mark.parametrize(
    'name', [*PROGRAMS, 'computed_torque_pinocchio', 'inverse_kinematics_pinocchio']
)
def test_a_program_has_at_most_30_lines_of_99_characters(name):
    lines = (EXAMPLES / f'{name}.py').read_text('utf-8').splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 99


def test_programs_on_their_page_are_those_of_the_files():
    page = (ROOT / 'docs/programs.md').read_text('utf-8')
    code_block = r'\(\.\./examples/(\w+)\.py\)[^\n|]*:\n\n```python\n(.*?)```'
    shown = re.findall(code_block, page, re.DOTALL)
    assert [name for name, _ in shown] == [
        'computed_torque',
        'computed_torque_pinocchio',
        'inverse_kinematics',
        'inverse_kinematics_pinocchio',
    ]
    for name, code in shown:
        assert code == (EXAMPLES / f'{name}.py').read_text('utf-8'), name
    assert page.count('```python') == len(shown)
    assert re.findall(r'^\| \[(\w+)\.py\]', page, re.MULTILINE) == [*PROGRAMS]


def test_every_example_has_a_test():
    tested = {name[5:] for name in globals() if name.startswith('test_')}
    assert {path.stem for path in EXAMPLES.glob('*.py')} <= tested


def test_natural_modes(output):
    [[folded, stretched]] = output('natural_modes')
    assert 0.0 < stretched < folded  # mass far from the shoulder lowers the frequency


def test_bode_plot(output):
    [[decibels, frequency]] = output('bode_plot')
    # the rotor turns with the link on this servo: the frequency is above the clamped beam's
    from flex_robot_sim import load, modes

    assert decibels > 0.0
    assert frequency == pytest.approx(
        modes(load('single_link'), gains=(40.0, 4.0)).frequencies[0], rel=0.05
    )  # of a peak, which is not the frequency quite


def test_payloads(output):
    [[mass, drop, laden, empty]] = output('payloads')
    # mgh of a payload that hangs on springs in a row is at least what one of them gives
    assert (mass, drop > 0.0, laden < empty) == (0.5, True, True)


def test_printed_link(tmp_path):
    """It draws the STL file of printed_arm, whose folder stays small."""
    path, folder = tmp_path / 'link.stl', ROOT / 'meshes/printed_arm'
    program = EXAMPLES / 'printed_link.py'
    subprocess.run([sys.executable, program, path], check=True, timeout=PATIENCE)
    assert path.read_bytes() == (folder / 'upper_arm.stl').read_bytes()
    assert sum(one.stat().st_size for one in folder.iterdir()) < 200_000


def test_tapered_boom(output):
    from scipy.integrate import quad

    rows = output('tapered_boom')
    for row, diameter in zip(rows, (lambda s: 0.16 - 0.08 * s, lambda s: 0.12), strict=True):
        mass, sag, frequency = row

        def section(s, diameter=diameter):
            outer = diameter(s)
            inner = outer - 0.008
            return np.pi / 4 * (outer**2 - inner**2), np.pi / 64 * (outer**4 - inner**4)

        def moment(s, section=section):
            """Bending moment of the weight beyond s, and of 20 kg at the tip."""
            own = quad(lambda t: 2700 * 36 * section(t)[0] * (t - s), s, 1)[0]
            return 9.81 * (own + 20 * 6 * (1 - s))

        bend = quad(lambda s: moment(s) * 36 * (1 - s) / (7e10 * section(s)[1]), 0, 1)[0]
        assert mass == pytest.approx(2700 * 6 * quad(lambda s: section(s)[0], 0, 1)[0], abs=1e-3)
        assert sag == pytest.approx(1e3 * bend, rel=1e-3)
        # Geiger: 1 to 1.25 times that of a mass on a spring with this sag
        assert 1.0 < frequency / (np.sqrt(9.81 / (1e-3 * sag)) / (2 * np.pi)) < 1.25
    assert rows[0][0] == rows[1][0] and rows[0][2] > 1.2 * rows[1][2]


def test_own_controller(output):
    [[error, _]] = output('own_controller')
    assert error < 1e-3


@pytest.mark.long
def test_stop_ringing(output):
    [[before], [after]] = output('stop_ringing')
    assert after < 0.02 * before


def test_arm_from_code(output):
    [[found, first, second]] = output('arm_from_code')
    # the simulated arm against its linear model; the second mode is across the push
    assert found == pytest.approx(first, abs=0.05) and found < second


@pytest.mark.long
def test_press_and_slide(output):
    *limits, [fast, _, hammers], [slow, force, steady] = output('press_and_slide')
    _, flexible, rigid = limits[2]
    assert rigid < fast < flexible < slow  # the linear model says which one is stable
    assert hammers > 10.0 and steady < 0.05
    # a longer period damps the links, and takes damping from the rigid arm
    by_period = np.array(limits)[:, 1:].T
    assert (np.diff(by_period[0]) < 0.0).all() and (np.diff(by_period[1]) > 0.0).all()
    assert force == pytest.approx(10.0, rel=0.01)


@pytest.mark.long
def test_spin_up(output):
    [[lag, end], [away]] = output('spin_up')
    # Kane, Ryan and Banerjee (1987) show half a metre for this beam, and a linear model that
    # leaves between 5 and 10 s
    assert 0.45 < lag < 0.6 and abs(end) < 0.02 and 5.0 < away < 10.0


@pytest.mark.long
def test_learn_damping(output):
    pytest.importorskip('gymnasium', reason='pip install ".[learn]"')
    [[reward, bends], [learned, still_bends]] = output('learn_damping')
    # in episodes that it has not seen while it learned
    assert learned > 0.9 * reward and still_bends < 0.7 * bends


def test_read_bench(output):
    [[count, seconds, *noise, _]] = output('read_bench')
    # 500 a second are sent; a busy computer, which is the board as well, is late
    assert 0.1 * 500 < count / seconds < 520
    assert all(0.0 < value < 0.05 for value in noise)


@pytest.mark.ros
def test_own_controller_ros(output):
    dynamics = NodeProcess('dynamics', robot='two_link')
    try:
        dynamics.wait_for_line('two_link')
        [[count, *joints]] = output('own_controller_ros')
        assert count > 100
        assert joints == pytest.approx([0.5, 0.5, -0.8], abs=0.3)  # it sags: no weight is carried
    finally:
        dynamics.close()


@pytest.mark.long
def test_impulse_response(output):
    [[peak, *modes]] = output('impulse_response')
    # 16 s of samples have a resolution of 1/16 Hz
    assert min(abs(peak - mode) for mode in modes) < 1 / 16


@pytest.mark.long
def test_random_payloads(output):
    [[*levels, low, median, high]] = output('random_payloads')
    assert levels == [5, 50, 95]
    # the move of one second excites little above 2 Hz, and heavier tips vibrate more slowly
    assert 0.0 < low < 0.2 * median < median < high < 50.0


@pytest.mark.long
def test_lqr(output):
    [[servo], [regulated]] = output('lqr')
    assert servo > 1.0 and regulated < 0.02 * servo


@pytest.mark.long
def test_computed_torque(output):
    [[flexible]] = output('computed_torque')
    assert 1.0 < flexible < 20.0  # the elastic gears and links are not in the law


def test_computed_torque_pinocchio(output):
    pytest.importorskip('pinocchio')
    [[rigid]] = output('computed_torque_pinocchio')
    assert rigid < 1.0  # Euler's method with 1 ms is all that is off


@pytest.mark.long
def test_gradient(output):
    [[cost, iterations, still]] = output('gradient')
    assert still == 640  # weight times the square of 0.8 rad
    # the least effort of a rigid inertia J from rest to rest is the integral of (6 J a / T^2
    # (1 - 2 t / T))^2: 12 J^2 a^2 / T^3. Friction and bending add a little
    from flex_robot_sim import load, mass_matrix

    inertia = mass_matrix(load('single_link'), [0.0, 0.0, 0.0])[0, 0]
    assert cost == pytest.approx(12 * inertia**2 * 0.8**2 / 0.8**3, rel=0.05)


def test_ship_boom(output):
    (roll, sideways), (balance, work) = output('ship_boom')
    # the motion in the URDF: two sines of 0.12 and 0.04 rad
    assert 0.12 < np.radians(roll) < 0.165 and 5.0 < sideways < 50.0
    assert abs(balance) < 1e-5 and abs(work) < 1.0  # its base ends where it started


def test_inverse_kinematics(output):
    [[error, _, sag]] = output('inverse_kinematics')
    assert error < 1e-6 and 5.0 < sag < 30.0


def test_inverse_kinematics_pinocchio(output):
    pytest.importorskip('pinocchio')
    [[error, _, *joints]] = output('inverse_kinematics_pinocchio')
    assert error < 1e-9
    # the same joints put the straight arm there by our own kinematics
    from flex_robot_sim import load, pose

    arm = load('two_link')
    q = [0.0] * arm.nq
    q[arm.joint_q] = joints
    assert pose(arm, q)[:3, 3] == pytest.approx([0.45, 0.25, 0.15], abs=1e-4)  # rounded joints


@pytest.mark.long
def test_process_pool(output):
    [[soft, stiff, sag, stiff_sag]] = output('process_pool')
    assert 0.0 < soft < stiff and 0.0 < stiff_sag < sag


@pytest.mark.long
def test_branches(output):
    [[least, most]] = output('branches')
    assert 0.0 < least < most


@pytest.mark.long
def test_time_optimal_move(output):
    [[end, vibration], [same_end, left]] = output('time_optimal_move')
    assert same_end == end and left < 0.05 * vibration


def test_harmonic_drive(output):
    """The loop is that of the stiffnesses and the slipping springs of harmonic_drive.urdf."""
    stiffness, springs = np.array([3.1e4, 5e4, 5.7e4]), ((1e4, 1.0), (5e3, 1.5), (2.5e3, 2.0))
    knots = np.cumsum([0.0, 14 / 3.1e4, 34 / 5e4])

    def spring(x):
        pieces = np.diff([*np.minimum(abs(x), knots), abs(x)])
        return np.sign(x) * pieces @ stiffness

    # on the way back from the rated torque, a spring has slipped after twice its deflection
    grid = np.linspace(-2e-3, 2e-3, 400_001)
    rising = np.array([sum(min(k * x, f) for k, f in springs) for x in grid[200_000:]])
    virgin = np.array([spring(x) for x in grid[200_000:]]) + rising
    largest = np.interp(67.0, virgin, grid[200_000:])
    zero = next(
        x
        for x in grid[200_000:]
        if spring(x) + sum(max(f - k * (largest - x), -f) for k, f in springs) > 0.0
    )
    area = sum(4 * f * (largest - f / k) for k, f in springs)
    ((twist,), (width, found_area)) = output('harmonic_drive')
    assert twist == pytest.approx(1e3 * largest, rel=2e-3)
    assert width == pytest.approx(2e3 * zero, rel=2e-2)
    assert found_area == pytest.approx(area, rel=2e-3)
