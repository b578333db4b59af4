"""Figures of motions: their contents, and errors for invalid paths."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.plots import (
    COLOURS,
    Curve,
    Panel,
    _draw_panel,
    check_figure_path,
    draw_figure,
    write_figure,
)

pytestmark = pytest.mark.slow

TIME = np.linspace(0.0, 1.0, 50)
PANELS = [
    Panel(
        'angle [rad]',
        (Curve('waist', TIME, np.sin(TIME)), Curve('waist, target', TIME, TIME, dashes=1)),
    ),
    Panel('late [ms]', (Curve('states', TIME, np.exp(3 * TIME)),), is_logarithmic=True),
]


def test_a_figure_has_a_panel_for_each_with_its_curves_and_units():
    axes = draw_figure('two_link', PANELS).axes
    assert [each.get_ylabel() for each in axes] == ['angle [rad]', 'late [ms]']
    assert axes[-1].get_xlabel() == 'time [s]'
    first, second = axes[0].get_lines()
    assert first.get_color() == second.get_color() and first.get_linestyle() == '-'
    assert second.get_linestyle() != '-'
    np.testing.assert_array_equal(first.get_ydata(), np.sin(TIME))
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == [
        'waist',
        'waist, target',
    ]
    assert axes[1].get_yscale() == 'log'


@pytest.mark.parametrize('values', [[], [np.nan] * 3, [0.0] * 3, [-1.0] * 3], ids=str)
@pytest.mark.parametrize('is_logarithmic', [False, True])
@pytest.mark.filterwarnings('error')
def test_a_panel_with_nothing_to_show_is_drawn_all_the_same(tmp_path, values, is_logarithmic):
    curve = Curve('nothing', np.arange(len(values)), np.array(values, float))
    write_figure(tmp_path / 'run.png', 'empty', [Panel('late [ms]', (curve,), is_logarithmic)])
    write_figure(tmp_path / 'run.png', 'empty', [Panel('late [ms]', (), is_logarithmic)])


@pytest.mark.parametrize(
    'kind, start', [('png', b'\x89PNG'), ('pdf', b'%PDF'), ('svg', b'<?xml'), ('PNG', b'\x89PNG')]
)
def test_the_end_of_the_name_says_what_kind_of_file_it_is(tmp_path, kind, start):
    path = tmp_path / f'run.{kind}'
    write_figure(path, 'two_link', PANELS)
    assert path.read_bytes().startswith(start)


def luminance(colour):
    """Relative luminance of sRGB (WCAG 2.1): lightness in a print without colours."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_every_colour_stands_out_from_paper():
    # WCAG requires 3:1 for graphics; the two lightest are for the last curves only
    assert all(1.05 / (luminance(colour) + 0.05) >= 3.0 for colour in COLOURS[:3])
    assert all(1.05 / (luminance(colour) + 0.05) >= 2.0 for colour in COLOURS)


@pytest.mark.parametrize(
    'name, line',
    [
        ('run.txt', 'a figure ends in one of .png, .pdf, .svg'),
        ('run', 'a figure ends in one of .png, .pdf, .svg'),
        (
            'missing/run.png',
            'cannot be written: No such file or directory. Name a file in a folder of yours',
        ),
    ],
)
def test_a_useless_path_is_refused(tmp_path, name, line):
    with pytest.raises(SettingError) as error:
        check_figure_path(tmp_path / name)
    assert str(error.value) == f'{tmp_path / name}: {line}'


def test_a_path_that_cannot_be_written_is_an_error_of_one_line():
    with pytest.raises(SettingError, match='^/proc/run.png: cannot be written: '):
        write_figure('/proc/run.png', 'two_link', PANELS)


@pytest.mark.parametrize(
    'values, scale',
    [([1.9, 2.0, 2.1], 'linear'), ([0.1, 2.0], 'log'), ([0.0, 2.0], 'linear'), ([], 'linear')],
)
def test_a_logarithm_is_drawn_where_it_has_ticks(values, scale):
    figure = Figure()
    axes = figure.subplots()
    _draw_panel(
        axes,
        Panel('late [ms]', (Curve('states', TIME[: len(values)], values),), is_logarithmic=True),
    )
    assert axes.get_yscale() == scale
    if len(values) and scale == 'linear':
        assert axes.get_ylim() == pytest.approx((0.0, 1.1 * max(values)))
