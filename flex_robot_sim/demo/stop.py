"""Deferred handling of Ctrl-C and other termination signals."""

import signal


class StopRequests:
    """Counts stop requests; while `interrupts`, a request raises KeyboardInterrupt."""

    def __init__(self) -> None:
        """Install the signal handlers; `restore_handlers` removes them."""
        self.request_count, self.interrupts = 0, True
        numbers = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, 'SIGHUP'):
            numbers.append(signal.SIGHUP)
        self._old_handlers = {number: signal.signal(number, self._on_signal) for number in numbers}

    def _on_signal(self, *_):
        self.request_count += 1
        if self.interrupts:
            raise KeyboardInterrupt

    def restore_handlers(self) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
