"""Names are untrusted: they are plain text in figures, on pages and on terminals."""

import html
import re

import numpy as np
import pytest

pytest.importorskip('mcap')

from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXTS, joint_state
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.util.plots import Chart, Curve, Panel, chart_svg, write_charts, write_figure

pytestmark = pytest.mark.slow

FORMULAS = [
    '$\\frac{a$',
    '$x_1$',
    'a$b',
    '\\$',
    '_hidden',
    '$$',
    '{}',
    '%s',
    '<b>&amp;',
    '\\n',
    '$\\undefined$',
]
# Unicode's bidirectional controls, and control characters of terminals
CONTROLS = ['\u202egnp.exe', '\u202a', '\u202b', '\u202c', '\u202d', '\u2066', '\u2067',
            '\u2068', '\u2069', '\u200e', '\u200f', '\u061c', '\x1b[31mred', '\x1b]0;title\x07',
            '\x9b31m', '\x7f', '\x00', '\x08', '\u200b', '\U000e0041']  # fmt: skip


@pytest.mark.parametrize('name', CONTROLS)
def test_what_steers_a_terminal_is_shown_as_an_escape(name):
    shown = plain(f'a {name} b')
    assert shown.isprintable() and shown.isascii() and '\\' in shown
    assert shown.startswith('a ') and shown.endswith(' b')


@pytest.mark.parametrize('name', ['joint_1', 'épaule', '肩', 'плечо', 'كتف', 'a b', '½'])
def test_names_of_all_languages_stay_as_they_are(name):
    assert plain(name) == name


@pytest.mark.long(after=3)
@pytest.mark.parametrize('name', FORMULAS)
def test_a_name_in_a_figure_is_no_formula(tmp_path, name):
    time = np.arange(3.0)
    curves = [Curve(name, time, time), Curve('other', time, -time)]
    svg, *_ = chart_svg(Chart(name, name, name, curves), 'k')
    texts = [html.unescape(found) for found in re.findall(r'<text[^>]*>([^<]*)</text>', svg)]
    # a title, both axes, and the legend
    assert sum(text.strip() == name for text in texts) == 4, texts
    write_figure(tmp_path / 'a.png', name, [Panel(name, curves)])
    write_charts(tmp_path / 'b.pdf', name, [Chart(name, name, name, curves)])


@pytest.mark.long(after=1)
@pytest.mark.parametrize('names', [FORMULAS, CONTROLS], ids=['formulas', 'controls'])
def test_a_report_shows_strange_names_of_joints_as_text(tmp_path, capsys, names):
    path = tmp_path / 'run.mcap'
    writer = RecordingWriter(path, {'robot': names[0]})
    for topic in ('/joint_states', '/controller/target', f'/{names[0]}'):
        for k in range(1, 60):
            writer.write(
                writer.topic(topic, JOINT_STATE, TEXTS[JOINT_STATE]),
                k * 10**7,
                joint_state(
                    k * 10**7, names, np.full(len(names), np.sin(k / 10)), np.zeros(len(names))
                ),
            )
    writer.close()
    words = f'report {path} --output {tmp_path}/page.html --figures {tmp_path}/figures'
    assert main(words.split()) == 0
    page = (tmp_path / 'page.html').read_text('utf-8')
    printed = capsys.readouterr()
    for text in (page, printed.out, printed.err):
        assert all(line.isprintable() for line in text.split('\n'))
    assert html.escape(plain(names[0])) in page
    assert main(['export', str(path), '--output', str(tmp_path / 'tables')]) == 0
    printed = capsys.readouterr()
    assert (printed.out + printed.err).replace('\n', '').isprintable()


@pytest.mark.parametrize('value', [1e308, -1e308, 1e200, np.inf, np.nan])
def test_a_number_that_no_axis_can_show_is_a_gap_in_a_figure(tmp_path, value):
    time, values = np.arange(4.0), np.array([0.0, value, 1.0, 2.0])
    path = tmp_path / 'figure.png'
    write_charts(path, 'any', [Chart('any', 'time [s]', 'effort', (Curve('a', time, values),))])
    assert path.stat().st_size > 1000
    chart_svg(Chart('any', 'time [s]', 'effort', (Curve('a', time, values),), True), 'key')
