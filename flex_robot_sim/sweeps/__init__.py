"""
Sweeps: many runs with varied parameters, on all processors or many machines.

In short::

    table = frs.sweeps.sweep('two_link', scale={'forearm.EIz': 'uniform:0.9,1.1'},
                             method='random', count=1000)
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.sweeps.case import Case
    from flex_robot_sim.sweeps.execution import sweep
    from flex_robot_sim.sweeps.manoeuvre import Manoeuvre
    from flex_robot_sim.sweeps.pools import processes

__all__ = ['Case', 'Manoeuvre', 'processes', 'sweep']

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'sweeps.case': ('Case',),
            'sweeps.execution': ('sweep',),
            'sweeps.manoeuvre': ('Manoeuvre',),
            'sweeps.pools': ('processes',),
        },
    )
