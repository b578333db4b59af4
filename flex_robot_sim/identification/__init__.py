"""
Identification: parameters of an arm from logs, with confidence intervals, and experiment design.

In short::

    found = frs.identification.identify_parameters(arm, 'run.csv', free=['forearm.EIz'])
    found.values, found.estimates[0].interval
"""

from flex_robot_sim.util.lazy_names import lazy_names

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.identification.arm_identification import identify_parameters
    from flex_robot_sim.identification.experiment_design import ExperimentDesign, design_experiment
    from flex_robot_sim.identification.identification import Identification, ParameterEstimate
    from flex_robot_sim.identification.log_file import Log, make_log, read_log
    from flex_robot_sim.identification.robust_design import best_experiment

__all__ = [
    'ExperimentDesign',
    'Identification',
    'Log',
    'ParameterEstimate',
    'best_experiment',
    'design_experiment',
    'identify_parameters',
    'make_log',
    'read_log',
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            'identification.arm_identification': ('identify_parameters',),
            'identification.experiment_design': ('ExperimentDesign', 'design_experiment'),
            'identification.identification': ('Identification', 'ParameterEstimate'),
            'identification.log_file': ('Log', 'make_log', 'read_log'),
            'identification.robust_design': ('best_experiment',),
        },
    )
