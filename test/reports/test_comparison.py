"""Comparison of two recordings with a known difference."""

import json

import pytest

pytest.importorskip('mcap')

from written_runs import write_run

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow


def compared(capsys, folder, first, second):
    """Output of `flexsim compare --json`."""
    assert (
        main(['compare', str(first), str(second), '--output', str(folder / 'x.html'), '--json'])
        == 0
    )
    return json.loads(capsys.readouterr().out)


def test_runs_are_laid_over_each_other_where_their_motions_begin(tmp_path, capsys):
    first = write_run(tmp_path / 'a.mcap', begins=1.0)
    second = write_run(tmp_path / 'b.mcap', begins=1.7, late=1000.0, shift=0.002)
    facts = compared(capsys, tmp_path, first, second)
    assert facts['recordings'] == ['a', 'b'] and facts['start_signals'] == ['target', 'target']
    assert facts['motion_starts'][1] - facts['motion_starts'][0] == pytest.approx(0.7, abs=1e-6)
    row = facts['position']['elbow']
    # one is 2 mrad above the other all the time; stamps are whole nanoseconds
    assert row['difference_rms'] == pytest.approx(0.002, rel=1e-4)
    assert row['difference_largest'] == pytest.approx(0.002, rel=1e-3)
    assert row['difference_percent'] == pytest.approx(100 * 0.002 / 0.5, rel=1e-3)
    assert facts['error']['elbow']['rms'] == pytest.approx([0.01, 0.008], abs=1e-6)
    assert facts['tip']['forearm, y']['difference_rms'] < 1e-6
    assert facts['residual_vibration']['forearm']['ratio'] == pytest.approx(1.0, rel=0.01)


def test_a_run_is_no_different_from_itself(tmp_path, capsys):
    path = write_run(tmp_path / 'a.mcap', seconds=3.0)
    facts = compared(capsys, tmp_path, path, path)
    assert facts['recordings'] == [str(path), str(path)]
    assert all(
        row['difference_largest'] == 0.0
        for kind in ('position', 'error', 'effort', 'tip')
        for row in facts[kind].values()
    )


@pytest.mark.long
def test_the_page_has_both_and_the_text_names_the_motions(tmp_path, capsys):
    first = write_run(tmp_path / 'a.mcap', seconds=3.0)
    second = write_run(tmp_path / 'b.mcap', seconds=3.0, away=0.02)
    words = f'compare {first} {second} --output {tmp_path}/x.html --figures {tmp_path}/figs'
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert 'the motion of a begins at 1.' in out and 'by its target' in out
    page = (tmp_path / 'x.html').read_text('utf-8')
    assert 'a and b' in page and page.count('<svg') == 5 and 'difference' in page
    assert len(list((tmp_path / 'figs').iterdir())) == 10


def test_what_only_one_of_them_has_is_left_out(tmp_path, capsys):
    first = write_run(tmp_path / 'a.mcap', seconds=2.0)
    second = write_run(tmp_path / 'b.mcap', seconds=2.0, joint='knee')
    assert main(['compare', str(first), str(second), '--output', str(tmp_path / 'x.html')]) == 0
    out = capsys.readouterr().out
    assert 'forearm, y' in out and 'elbow' not in out
