"""Estimates of the time left of an iteration, against closed forms of convergence."""

from flex_robot_sim.identification.time_left import TimeLeft, stage, steps_left, time_left


def test_steps_of_a_geometric_sequence_are_counted():
    assert steps_left([8.0, 4.0], 0.5) == 3
    assert steps_left([8.0, 0.4], 0.5) == 0
    assert [steps_left([x], 0.5) for x in (0.4, 0.6, 5.0)] == [0, 1, 2]


def test_a_diverging_sequence_ends_at_the_largest_number_of_steps():
    lines: list[str] = []
    left = TimeLeft(1e-3, 4, lines.append)
    left.note(1.0, 60.0)
    left.note(2.0, 60.0)
    assert lines[-1] == 'about 2 min left'


def test_the_size_of_a_step_is_the_relative_reduction_of_the_cost():
    lines: list[str] = []
    left = TimeLeft(0.1, 10, lines.append)
    for cost in (200.0, 100.0, 300.0, float('nan'), 95.0):
        left.note_cost(cost)
    assert len(lines) == 2 and lines[-1] == 'about 10 s left'


def test_the_time_left_is_rounded_up():
    assert time_left(3.0) == 'about 10 s left' and time_left(90.0) == 'about 2 min left'


def test_lines_name_their_stage():
    lines: list[str] = []
    stage(lines.append, 'fitting')('about 10 s left')
    assert lines == ['fitting', 'fitting, about 10 s left']
