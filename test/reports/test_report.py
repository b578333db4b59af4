"""Numbers and pages of recordings, against formulas, the simulation, and in a browser."""

import base64
import contextlib
import io
import json

import numpy as np
import pytest

pytest.importorskip('mcap')

from written_runs import write_run

from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import TEXT, TEXTS, text
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.reports.run_report import make_report

pytestmark = pytest.mark.slow

WORDS = 'single_link --effort motor=sine:0.5@3 --start 0.3 --seconds 1 --rate 1000 --json'


@pytest.fixture(scope='module')
def simulated(tmp_path_factory):
    """A recording of a simulation, and the summary of `flexsim simulate`."""
    path, said = tmp_path_factory.mktemp('simulated') / 'run.mcap', io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(['simulate', *WORDS.split(), '--output', str(path)]) == 0
    return path, json.loads(said.getvalue())


@pytest.fixture(scope='module')
def report(simulated):
    return make_report(simulated[0])


def reported(capsys, *words):
    """Output of `flexsim report --json`."""
    assert main(['report', *map(str, words), '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_errors_and_efforts_are_those_that_were_written(tmp_path, capsys):
    path = write_run(tmp_path / 'run.mcap', away=0.01)
    facts = reported(capsys, path, '--output', tmp_path / 'x.html')
    row = facts['joints']['elbow']
    for key in ('error_rms', 'error_largest', 'error_at_end'):
        # exact except for rounding
        assert row[key] == pytest.approx(0.01, abs=1e-9)
    assert row['effort_rms'] == row['effort_largest'] == 1.5
    assert row['range'] == pytest.approx(0.5)
    assert facts['topics']['/joint_states']['messages'] == 1200
    assert facts['topics']['/joint_states']['rate'] == pytest.approx(200.0)
    assert facts['timing']['state_period_median'] == pytest.approx(0.005)


@pytest.mark.parametrize('frequency, ratio', [(2.5, 0.02), (1.7, 0.005), (6.0, 0.05)])
def test_modes_of_a_tip_are_measured_for_little_and_much_damping(tmp_path, frequency, ratio):
    path = write_run(tmp_path / 'run.mcap', seconds=9.5, frequency=frequency, ratio=ratio)
    first = make_report(path).numbers['modes']['measured'][0]
    # without noise; the remaining error is from the end of the record
    assert first['frequency'] == pytest.approx(frequency, rel=1e-6)
    assert first['damping_ratio'] == pytest.approx(ratio, rel=1e-4)


def test_residual_vibration_of_a_tip_after_a_motion_is_measured(tmp_path):
    path = write_run(tmp_path / 'run.mcap', seconds=14.0, frequency=2.5, ratio=0.02)
    facts = make_report(path).numbers
    modes = facts['modes']
    assert modes['is_rest'] and modes['from'] == pytest.approx(1.5, abs=0.03)
    # 30 periods without noise: the fit finds the true values
    assert modes['measured'][0]['frequency'] == pytest.approx(2.5, rel=0.01)
    assert modes['measured'][0]['damping_ratio'] == pytest.approx(0.02, rel=0.01)
    # amplitude 4 mm, less the decay in a quarter and three quarters of a period
    decay = np.exp(-0.02 * 2 * np.pi * np.array([0.25, 0.75]))
    assert facts['tips']['forearm']['residual_vibration'] == pytest.approx(
        4e-3 * decay.mean(), rel=0.01
    )  # of samples 5 ms apart


def test_energies_are_those_of_the_simulation(simulated, report):
    theirs, ours = simulated[1]['energy'], report.numbers['energy']
    # midpoints of speeds are those of the scheme; the first sample comes after the first step
    assert ours['work'] == pytest.approx(theirs['work'], rel=0.01)
    assert ours['dissipated'] == pytest.approx(
        theirs['dissipated'], abs=0.01 * abs(theirs['work'])
    )
    assert ours['largest_kinetic'] >= theirs['kinetic']


def test_the_picture_puts_the_tool_where_the_recorded_pose_has_it(simulated, report):
    motion = report.motion
    tables = {item.topic.name: item for item in read_tables(RecordingReader(simulated[0])).tables}
    tool = tables['/tool_pose']
    tips = np.frombuffer(base64.b64decode(motion['tips']), '<i2').reshape(-1, 3) * motion['unit']
    begin = tables['/joint_states'].columns['stamp'][0]
    assert 25 <= len(tips) <= 35  # frames of a second
    for k, axis in enumerate('xyz'):
        recorded = np.interp(
            motion['time'], tool.columns['stamp'] - begin, tool.columns[f'pose/position/{axis}']
        )
        assert np.abs(tips[:, k] - recorded).max() < motion['unit'] + 1e-6  # 16 bits


def test_the_predicted_frequency_is_that_of_a_cantilever_with_a_mass_at_its_tip(report):
    modes = report.numbers['modes']
    assert modes['drive_condition'] == 'with locked drives'
    # a steel strip of 0.6 m with 0.1 kg: Rayleigh's 33/140 of its own mass swing along, to 0.5 %
    stiffness = 3 * 206e9 * 0.025 * 0.0015**3 / 12 / 0.6**3
    expected = np.sqrt(stiffness / (0.1 + 33 / 140 * 0.176625)) / (2 * np.pi)
    assert modes['predicted'][0]['frequency'] == pytest.approx(expected, rel=0.005)
    # as described
    assert modes['predicted'][0]['damping_ratio'] == pytest.approx(0.005, rel=0.01)


def test_figures_are_files_of_both_kinds(tmp_path, capsys):
    path = write_run(tmp_path / 'run.mcap')
    facts = reported(capsys, path, '--output', tmp_path / 'x.html', '--figures', tmp_path / 'figs')
    names = {file.name for file in (tmp_path / 'figs').iterdir()}
    assert names == {
        f'{word}.{kind}'
        for word in ('positions', 'errors', 'efforts', 'tips', 'spectrum', 'timing')
        for kind in ('png', 'svg')
    }
    assert len(facts['files']) == 13
    assert (tmp_path / 'figs' / 'tips.png').read_bytes().startswith(b'\x89PNG')
    assert '<svg' in (tmp_path / 'figs' / 'tips.svg').read_text()


def test_a_browser_shows_the_page_from_disk_without_requests(report, tmp_path, browsers):
    page = tmp_path / 'run.html'
    page.write_text(report.page(), 'utf-8')
    browser = browsers(page.as_uri())
    script = browser.driver.execute_script
    browser.wait_for(lambda: 'of 1.00 s' in browser.text, 'the time')
    drawn = """const c = document.querySelector('#stage canvas');
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.reduce(
            (sum, value, k) => (sum * 31 + value * (k % 251)) % 1e9, 0)"""
    first = script(drawn)
    script(
        "const s = document.getElementById('time'); s.value = 0.5;"
        "s.dispatchEvent(new Event('input'))"
    )
    assert '0.50 of 1.00 s' in browser.text and script(drawn) != first
    # the cursor of a time plot is in the middle of the plotted range
    shares = script("""const p = document.getElementById('positions');
        const at = p.querySelector('.cursor').style.left;
        return [parseFloat(at) / 100, +p.dataset.left, +p.dataset.right, +p.dataset.from,
                +p.dataset.until]""")
    at, left, right, begin, end = shares
    assert at == pytest.approx(left + (0.5 - begin) / (end - begin) * (right - left), abs=1e-6)
    browser.press('play')
    browser.wait_for(lambda: '0.50 of' not in browser.text, 'motion')
    assert script('return document.documentElement.scrollWidth <= window.innerWidth')
    assert browser.requests() == {page.as_uri()}
    assert [
        entry for entry in browser.driver.get_log('browser') if entry['level'] == 'SEVERE'
    ] == []


def test_untrusted_names_are_only_text(tmp_path, browsers):
    name = '</script><script>document.title="mine"</script><img src=x onerror=alert(1)>'
    path = write_run(tmp_path / 'run.mcap', joint=name, seconds=1.0)
    assert main(['report', str(path), '--output', str(tmp_path / 'x.html')]) == 0
    browser = browsers((tmp_path / 'x.html').as_uri())
    assert browser.driver.title == 'an unknown robot: run.mcap'
    assert browser.requests() == {(tmp_path / 'x.html').as_uri()}


def test_of_several_arms_one_is_taken_and_the_others_are_named(tmp_path, capsys):
    path = write_run(tmp_path / 'run.mcap', space='/left', seconds=1.0)
    facts = reported(capsys, path, '--output', tmp_path / 'x.html')
    assert facts['joints'] and not any('several' in note for note in facts['notes'])
    words = '--namespace', 'right', '--output', str(tmp_path / 'y.html')
    assert main(['report', str(path), *words]) == 2
    assert capsys.readouterr().err.startswith(
        f'flexsim report: {path}: there are no joint states in it: it has /left/controller/target'
    )


@pytest.mark.parametrize(
    'make, line',
    [
        (
            lambda path: path.write_bytes(b'no'),
            ': this is no recording. Name an MCAP file, as '
            'flexsim simulate --output and ros2 bag write them.',
        ),
        (
            lambda path: path.write_bytes(b'\x89MCAP0\r\n'),
            ': there are no joint states in it. Record /joint_states.',
        ),
        (lambda path: None, ': cannot be read: No such file or directory.'),
    ],
    ids=['foreign', 'empty', 'missing'],
)
def test_what_holds_no_run_is_one_line(tmp_path, capsys, make, line):
    path = tmp_path / 'x.mcap'
    make(path)
    assert main(['report', str(path), '--output', str(tmp_path / 'x.html')]) == 2
    assert capsys.readouterr().err == f'flexsim report: {path}{line}\n'
    assert not (tmp_path / 'x.html').exists()


def test_a_recording_without_joint_states_is_refused_with_its_topics(tmp_path, capsys):
    path = tmp_path / 'x.mcap'
    writer = RecordingWriter(path, {})
    writer.write(writer.topic('/hello', TEXT, TEXTS[TEXT]), 1, text('x'))
    writer.close()
    assert main(['report', str(path), '--output', str(tmp_path / 'x.html')]) == 2
    assert capsys.readouterr().err == (
        f'flexsim report: {path}: there are no joint states in it: '
        'it has /hello. Record /joint_states.\n'
    )


def test_a_file_that_was_cut_off_is_reported_as_far_as_it_goes(tmp_path, capsys):
    path = write_run(tmp_path / 'run.mcap', seconds=20.0)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    facts = reported(capsys, path, '--output', tmp_path / 'x.html')
    assert 2.0 < facts['seconds'] < 18.0
    assert any('cut off' in note for note in facts['notes'])


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    'place, line',
    [
        ('x.txt', 'x.txt: a page ends in .html. Name such a file by --output.'),
        (
            'full.html',
            'full.html: cannot be written: No space left on device. Name another file by '
            '--output.',
        ),
        (
            'no/x.html',
            'no/x.html: cannot be written: No such file or directory. Name another file by '
            '--output.',
        ),
    ],
)
def test_a_page_that_cannot_be_written_is_one_line(tmp_path, capsys, monkeypatch, place, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'full.html').symlink_to('/dev/full')
    write_run(tmp_path / 'run.mcap', seconds=1.0)
    assert main(['report', 'run.mcap', '--output', place]) == 2
    assert capsys.readouterr().err == f'flexsim report: {line}\n'
