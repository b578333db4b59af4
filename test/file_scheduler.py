"""
Distribution of test files to processes, which goes on after a process has ended in a test.

pytest-xdist (3.8) gives the finished files of such a process to others, as files without a test.
The others then wait for their next test forever. It also runs the test again that has ended it.
"""

import pytest


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    if config.option.dist != 'loadfile':
        return None
    from xdist.scheduler import LoadFileScheduling

    class FileScheduler(LoadFileScheduling):
        """Gives the rest of a crashed process to others."""

        def remove_node(self, node):
            """Return the test in which a process has ended, or None; others run the rest."""
            files = self.assigned_work.pop(node)
            left = [name for file in files.values() for name, done in file.items() if not done]
            for path, file in files.items():
                rest = {name: False for name in file if name in left[1:]}
                if rest:
                    self.workqueue[path] = rest
            for other in self.assigned_work:
                self._reschedule(other)
            return left[0] if left else None

        def _reschedule(self, node):
            if node in self.registered_collections:  # a new process first collects
                super()._reschedule(node)

        def _assign_work_unit(self, node):
            super()._assign_work_unit(node)
            # a process starts a test once it knows the one after it
            if self.workqueue and self._pending_of(self.assigned_work[node]) < 2:
                self._assign_work_unit(node)

    return FileScheduler(config, log)
