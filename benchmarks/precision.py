"""Tool error against a converged run, and the longest step within an error limit."""

import numpy as np

TOLERANCE = 1e-3  # of the tool, as a fraction of how far it moves
STEPS_PER_SAMPLE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160,
                    200, 256, 320, 400, 512, 640, 800, 1024, 1280, 1600, 2048)  # fmt: skip


def tip_error(path, reference):
    """
    Largest distance of two paths of the tool, as a fraction of how far the reference moves.

    :param path: positions at the same instants, (samples, 3) [m].
    """
    moved = np.linalg.norm(reference - reference[0], axis=1).max()
    distance = np.linalg.norm(path - reference, axis=1)
    return float(distance.max() / moved) if np.isfinite(distance).all() else np.inf


def extrapolated(coarse, fine, order=2, factor=2):
    """Return the limit of two paths whose errors differ by factor**order."""
    return fine + (fine - coarse) / (factor**order - 1)


def longest_step(run, reference, choices=STEPS_PER_SAMPLE, tolerance=TOLERANCE):
    """
    Return (steps per sample, tip error) of the longest step within the limit, or None.

    :param run: function of the steps per sample; returns the path of the tool, (samples, 3) [m].
    """
    errors = [np.inf, np.inf]
    for steps in choices:
        error = tip_error(run(steps), reference)
        if error <= tolerance:
            return steps, error
        # shorter steps no longer help: the model is too coarse
        if error < 10 * tolerance and max(errors) < 1.01 * error and min(errors) > 0.99 * error:
            return None
        errors = [errors[1], error]
    return None
