"""Verdicts follow from numbers and bounds; invalid options are one-line errors."""

import re
from typing import Any

import numpy as np
import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.reproduce import ella, rcm, rig, spin_up
from flex_robot_sim.reproduce.options import Options, parse_values
from flex_robot_sim.reproduce.pages import make_table
from flex_robot_sim.reproduce.paper_comparison import (
    as_dict,
    check_claim,
    check_curves,
    check_number,
    not_comparable,
    require_duration,
)
from flex_robot_sim.reproduce.reproduction import Effect, Reproduction, as_text, summary
from flex_robot_sim.reproduce.sensitivity import find_smallest_change
from flex_robot_sim.reproduce.simulated_motion import integrate
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.plots import Chart, Curve, draw_charts

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    'row, verdict',
    [
        (check_number('f', 'table 1', 2.0, 2.04, 'Hz', 0.05), 'agrees'),
        (check_number('f', 'table 1', 2.0, 2.06, 'Hz', 0.05), 'differs'),
        (check_number('f', 'table 1', 2.0, np.nan, 'Hz', 0.05), 'not comparable'),
        (check_number('f', 'table 1', 2.0, np.inf, 'Hz', 0.05), 'differs'),
        (check_claim('growth', 'figure 1', 'grows', 1.1, '%', 'line width', lower=1.0), 'agrees'),
        (check_claim('growth', 'figure 1', 'grows', 0.9, '%', 'line width', lower=1.0), 'differs'),
        (check_curves('angle', 'figure 2', 0.009), 'agrees'),
        (check_curves('angle', 'figure 2', 0.011), 'differs'),
        (
            not_comparable('curve', 'figure 3', 'printed as a picture', 'no number'),
            'not comparable',
        ),
    ],
    ids=str,
)
def test_a_verdict_follows_from_number_and_bounds(row, verdict):
    assert row.verdict == verdict
    assert as_dict(row)['verdict'] == verdict


def test_a_reason_is_shown_only_if_the_comparison_does_not_agree():
    rows = [
        check_number('f', 'table 1', 2.0, ours, 'Hz', 0.05, reason='gains unknown')
        for ours in (2.0, 3.0)
    ]
    assert [as_dict(row)['reason'] for row in rows] == ['', 'gains unknown']


def test_a_short_run_has_no_verdict_and_names_the_required_time():
    rows = [check_curves('angle', 'figure 2', 0.0)]
    assert [row.verdict for row in require_duration(2.0, 2.0, rows)] == ['agrees']
    (short,) = require_duration(2.0, 1.9, rows)
    assert (short.verdict, short.shown_reason) == ('not comparable', 'needs --seconds 2 or more')


def test_a_run_of_a_second_decides_only_comparisons_without_motion():
    reproduction = spin_up.run(lambda fraction: None, Options(1.0, runs_formulations=False))
    decided = [row.what for row in reproduction.comparisons if row.verdict != 'not comparable']
    assert decided == ['first frequency of the beam at rest']
    assert {row.shown_reason for row in reproduction.comparisons if row.place == 'figure 5'} == {
        'needs --seconds 25 or more'
    }


def test_text_and_table_show_verdict_reason_and_place():
    reproduction = Reproduction(
        (),
        (
            check_number(
                'first frequency', 'section 4', 0.464, 0.4633, 'Hz', 5e-4, reason='closed form'
            ),
            check_claim('lag', 'figure 4', 'diverges', np.inf, 'm', 'length', upper=8.0),
            not_comparable('curve', 'figure 5', 'printed as a picture', 'no number'),
        ),
    )
    facts = summary('spin_up', reproduction, (), 1.0, 1.0)
    lines = [*as_text(facts)]
    assert lines[1] == '  2 differs, 1 not comparable'
    assert lines[2:4] == [
        '  differs        section 4: first frequency',
        '                 paper 0.464 +- 0.0005 Hz; ours 0.4633 Hz; tolerance: print resolution '
        '(closed form)',
    ]
    assert lines[5] == (
        '                 paper diverges; ours beyond all bounds; tolerance: length'
    )
    assert make_table(facts).splitlines()[4:] == [
        '| section 4 | first frequency | 0.464 +- 0.0005 Hz | 0.4633 Hz | print resolution '
        '| *differs*: closed form |',
        '| figure 4 | lag | diverges | beyond all bounds | length | *differs* |',
        '| figure 5 | curve | printed as a picture | - | - | *not comparable*: no number |',
    ]


def test_effects_of_a_variant_have_a_table():
    reproduction = Reproduction(
        (),
        (),
        effects=(Effect('EA as printed', 'v_y', 112.34), Effect('ends', 'v_y', 3.0, 2.21)),
        findings=('the motion is lost at 2.21 of 2.5 s',),
    )
    facts = summary('canadarm2', reproduction, (), 1.0, 1.0, 'paper')
    assert make_table(facts) == (
        'From `flexsim reproduce canadarm2 --variant paper`:\n\n'
        '| deviation | quantity | change |\n'
        '|---|---|---|\n| EA as printed | v_y | 112 % of its range |\n'
        '| ends | v_y | 3 % of its range until the run ends at 2.21 s |\n'
        '\nThe motion is lost at 2.21 of 2.5 s.\n'
    )


@pytest.mark.parametrize(
    'words, line',
    [
        (
            ['rcm', '--variant', 'paper'],
            'rcm: no variant "paper". Its equations are those of the paper.',
        ),
        (['ella', '--variant', 'mine'], 'ella: no variant "mine". Known: paper.'),
        (['all', '--variant', 'mine'], 'no variant "mine". Known: paper.'),
        (
            ['spin_up', '--set', 'beam.EIx=3'],
            'spin_up: no parameter "beam.EIx". Near: beam.EIz, beam.mass, beam.length, '
            'beam.stiffness, beam.damping_ratio, beam.polar_inertia.',
        ),
        (['spin_up', '--set', 'beam.EIz=-3'], 'beam.EIz = -3 cannot be: it must be above 0.'),
        (['spin_up', '--set', 'beam.EIz=nan'], 'beam.EIz = nan cannot be: it must be above 0.'),
        (
            ['spin_up', '--set', 'beam.length=400'],
            'beam.length = 400 cannot be: it must be between 4 and 16.',
        ),
        (
            ['spin_up', '--set', 'beam.EIz'],
            '--set beam.EIz: write NAME=VALUE, such as forearm.EIz=12.',
        ),
        (
            ['spin_up', '--set', 'beam.EIz=1', '--set', 'beam.EIz=2'],
            '--set beam.EIz is given twice. Give it once.',
        ),
        (
            ['canadarm2', '--set', 'elbow_pitch.stiffness=1e6'],
            'canadarm2: elbow_pitch.stiffness cannot be set: the experiment varies it for its '
            'figures.',
        ),
        (
            ['all', '--set', 'beam.EIz=1'],
            '--set changes the robot of one experiment. Name the experiment.',
        ),
        (['all', '--sensitivity'], '--sensitivity takes one experiment. Name it.'),
        (
            ['ella', '--sensitivity', '--variant', 'paper'],
            '--sensitivity changes parameters of our own variant. Leave out --variant and --set.',
        ),
        (
            ['nonsense', '--set', 'a.b=1'],
            'no experiment "nonsense". Known: dual_screw, element_sum_1, element_sum_2, rig, '
            'ella, rcm, spin_up, canadarm2, all.',
        ),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, list) else '',
)
def test_an_invalid_option_is_a_one_line_error(words, line, tmp_path, capsys):
    assert main(['reproduce', *words, '--output', str(tmp_path / 'new')]) == 2
    assert capsys.readouterr().err == f'flexsim reproduce: {line}\n'
    assert not (tmp_path / 'new').exists()


def test_pages_without_marks_are_an_error(tmp_path, capsys):
    (tmp_path / 'stiffened.md').write_text('# nothing\n')
    assert main(['reproduce', 'spin_up', '--page', str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f'flexsim reproduce: {tmp_path / "stiffened.md"}: no table between '
        '<!-- comparisons of spin_up --> and <!-- end -->.\n'
    )


def test_set_changes_a_parameter_of_the_arm():
    arms = [
        Options(values=parse_values(words)).load_arm('spin_up_8m')
        for words in ([], ['beam.EIz=1133.41918', 'beam.mass=3.2'])
    ]
    rates = [spin_up.first_frequency(arm) for arm in arms]
    # EI doubled, mass by 1.98: to the digits of the description
    assert rates[1] / rates[0] == pytest.approx(np.sqrt(2 / (3.2 / 1.61504452)), rel=1e-6)


@pytest.mark.long
def test_the_smallest_change_that_changes_a_verdict_is_found():
    change = find_smallest_change(rcm, seconds=0.5)
    # a length of 0.25 m determines where the axes of joints 4 and 5 meet, to 1e-8 m
    assert re.fullmatch(
        r'(joint_5|remote_centre_mount|instrument_mount)\.origin_[xyz]', change.name
    )
    assert abs(change.share) < 0.01 and (change.before, change.after) == ('agrees', 'differs')


@pytest.mark.parametrize('module', [rcm, spin_up, rig])
def test_every_chart_has_a_legend_and_axes_with_units(module):
    for picture in module.run(
        lambda fraction: None, Options(0.2, runs_formulations=False)
    ).figures:
        for chart in picture.charts:
            assert chart.across.endswith(']') and chart.label.endswith(']')
            assert chart.title and all(curve.label for curve in chart.curves)
        figure = draw_charts(picture.title, picture.charts, picture.columns, has_all_legends=True)
        assert all(axes.get_legend() for axes in figure.axes[: len(picture.charts)])


@pytest.mark.parametrize('error', [np.linalg.LinAlgError, RuntimeError])
def test_a_motion_with_vanishing_inertia_ends_early_without_a_traceback(error):
    def accelerations(q, qd, force):
        if q[0] > 0.5:
            raise error('singular')  # as solvers of full and of sparse matrices do
        return np.ones(1)

    motion = integrate(accelerations, lambda q, qd, t: 0 * q, np.zeros(1), np.zeros(1), 0.01, 5.0)
    # q = t^2 / 2 reaches 0.5 after a second
    assert motion.time[-1] == pytest.approx(1.0, abs=0.11)


def test_a_variant_replaces_our_equations_of_motion():
    arm = Options().load_arm(ella.robot_text(ella.ONE_SHAPE))
    controller = ella.EllaController(arm, True)
    runs = [
        ella.simulate_move(arm, controller, 0.05, **words)
        for words in (
            {'formulation': 'wrench_dae'},
            {'variant': wrench_dae.make},
            {'variant': ella.SHIFTING_ENDS},
        )
    ]
    assert np.array_equal(runs[0].q, runs[1].q)
    # link ends without rotation make the arm stiffer, which is visible in any vibration
    assert np.abs(runs[2].q - runs[0].q).max() > 1e-4


def test_a_title_is_above_the_multiplier_of_its_axis():
    pytest.importorskip('matplotlib', minversion='3.6')  # before, the title overlaps it
    time = np.linspace(0.0, 1.0, 20)
    figure = draw_charts(
        'all',
        (
            Chart(
                'Fig. 1: a long title over the axis',
                'time [s]',
                'u [m]',
                (Curve('u', time, 1e-7 * time),),
            ),
        ),
        1,
        0.8,
    )
    figure.canvas.draw()
    canvas: Any = figure.canvas
    axes: Any = figure.axes[0]
    renderer = canvas.get_renderer()
    offset = axes.yaxis.get_offset_text()
    assert offset.get_text()
    title = axes._left_title.get_window_extent(renderer)
    assert not title.overlaps(offset.get_window_extent(renderer))


def test_set_takes_names_with_values():
    assert parse_values(['a.b=1', 'c.d=2e3']) == {'a.b': 1.0, 'c.d': 2000.0}
    with pytest.raises(UsageError):
        parse_values(['=3'])
