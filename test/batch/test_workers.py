"""Pieces of work in threads: each runs once, even if another one raises."""

import threading

import numpy as np
import pytest

from flex_robot_sim.batch.workers import Workers


@pytest.mark.parametrize('seed', range(50))
def test_pieces_are_all_rows_once_and_none_is_empty(seed):
    rng = np.random.default_rng(seed)
    threads, count, steps = rng.integers(1, [9, 200, 2000])
    pieces = Workers(int(threads)).pieces(int(count), int(steps))
    assert [row for first, end in pieces for row in range(first, end)] == [*range(count)]
    assert all(first < end for first, end in pieces)


def test_two_long_pieces_run_in_two_threads():
    assert len(Workers(2).pieces(2, 1000)) == 2
    assert len(Workers(1).pieces(2, 1000)) == 1


def test_threads_work_in_parallel_and_include_the_caller():
    together, seen = threading.Barrier(3, timeout=60), set()

    def work(piece):
        together.wait()  # goes on as soon as three are here at the same time
        seen.add(threading.current_thread())

    Workers(3).do(work, range(3))
    assert len(seen) == 3 and threading.current_thread() in seen


@pytest.mark.parametrize('threads', [1, 2, 4])
@pytest.mark.parametrize('wrong', [{0}, {5}, {0, 1, 2, 3, 4, 5}])
def test_errors_of_pieces_are_raised_after_all_pieces_have_finished(threads, wrong):
    done = []

    def work(piece):
        if piece in wrong:
            raise ArithmeticError(piece)
        done.append(piece)

    with pytest.raises(ArithmeticError):
        Workers(threads).do(work, range(20))
    assert sorted(done) == [piece for piece in range(20) if piece not in wrong]
