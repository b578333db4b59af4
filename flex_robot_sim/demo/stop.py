"""Ctrl-C and its like, noticed and dealt with when there is time for it."""

import signal


class Stop:
    """How often somebody asked to stop; while `interrupts`, the first time ends what goes on."""

    def __init__(self) -> None:
        """Take over the signals; `give_back` returns them."""
        self.asked, self.interrupts = 0, True
        numbers = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, 'SIGHUP'):
            numbers.append(signal.SIGHUP)
        self._before = {number: signal.signal(number, self._ask) for number in numbers}

    def _ask(self, number, frame):
        self.asked += 1
        if self.interrupts:
            raise KeyboardInterrupt

    def give_back(self) -> None:
        """Let the signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
