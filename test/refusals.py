"""Messages of errors, which tests compare as a whole."""

import pytest


def refusal(error, call, *arguments, **named):
    """Return the message of the error of this class that `call(*arguments, **named)` raises."""
    with pytest.raises(error) as caught:
        call(*arguments, **named)
    return str(caught.value)
