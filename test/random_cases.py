"""Number of random cases of a property test: few in CI, many with --long."""

LONG = 100  # times as many cases

IS_LONG = False  # set by conftest.py


def is_long():
    """Return whether random tests run with many cases."""
    return IS_LONG


def cases(count):
    """Return the decorator of a property test with a number of random cases."""
    from hypothesis import settings

    if IS_LONG:
        return settings(max_examples=LONG * count, derandomize=False)
    return settings(max_examples=count)
