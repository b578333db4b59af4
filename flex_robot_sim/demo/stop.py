"""Ctrl-C and its like, noticed and dealt with when there is time for it."""

import signal


class Stop:
    """How often somebody asked to stop since this was made."""

    def __init__(self):
        """Take over the signals; `give_back` returns them."""
        self.asked = 0
        numbers = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, 'SIGHUP'):
            numbers.append(signal.SIGHUP)
        self._before = {number: signal.signal(number, self._ask) for number in numbers}

    def _ask(self, number, frame):
        self.asked += 1

    def give_back(self):
        """Let the signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
