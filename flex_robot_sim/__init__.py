"""
Robot arms with flexible links and elastic joints, from one URDF.

    import flex_robot_sim as frs
    arm = frs.load('two_link')
    sim = frs.Simulation(arm)
    sim.advance_to(2.0)
"""

__version__: str  # read from package.xml on first use

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim import control, feedback, identification, planning, shaping, sweeps
    from flex_robot_sim.analysis.deflection import deflection
    from flex_robot_sim.analysis.derivatives import (
        ForwardDynamicsDerivatives,
        InverseDynamicsDerivatives,
        derivatives,
        inverse_dynamics_derivatives,
    )
    from flex_robot_sim.analysis.equations import (
        actuated_coordinates,
        forward_dynamics,
        gravity_forces,
        inverse_dynamics,
        mass_matrix,
        nonlinear_effects,
    )
    from flex_robot_sim.analysis.flex_sensors import curvatures
    from flex_robot_sim.analysis.inverse_kinematics import Reach, inverse_kinematics
    from flex_robot_sim.analysis.jacobians import jacobian, pose, twist, twist_rate
    from flex_robot_sim.analysis.linear import LinearModel, linearise
    from flex_robot_sim.analysis.natural_modes import Modes, frequencies, modes
    from flex_robot_sim.analysis.static_jacobian import static_jacobian
    from flex_robot_sim.analysis.statics import Equilibrium, equilibrium
    from flex_robot_sim.analysis.twists import convert_rate, convert_twist, convert_wrench
    from flex_robot_sim.batch.batch import Batch
    from flex_robot_sim.description import RobotDescription, read_description
    from flex_robot_sim.description.geometry import (
        Box,
        Capsule,
        CompositeSection,
        Cylinder,
        Material,
        Rectangle,
        Rod,
        SectionStiffness,
        Sphere,
        Tube,
    )
    from flex_robot_sim.dynamics.loads import Push
    from flex_robot_sim.model.arm_builder import ArmBuilder
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.model.arm_parameters import Parameters, parameters, with_parameters
    from flex_robot_sim.model.assembly import load
    from flex_robot_sim.model.payload import with_payload
    from flex_robot_sim.simulation.encoders import Encoders
    from flex_robot_sim.simulation.imu_sensor import ImuSensor
    from flex_robot_sim.simulation.rollout import rollout
    from flex_robot_sim.simulation.simulation import Simulation
    from flex_robot_sim.simulation.simulation_log import SimulationLog
    from flex_robot_sim.util.exceptions import (
        DescriptionError,
        FlexRobotSimError,
        SettingError,
        SimulationError,
    )
    from flex_robot_sim.util.settings import SimulationSettings
    from flex_robot_sim.util.share import robots

# Names are imported on first use. SciPy and the compiled part take a second, and Ctrl-C prints a
# traceback until start.py, which follows this module, installs its handler.
_LATER = {
    'analysis.deflection': ('deflection',),
    'analysis.derivatives': (
        'ForwardDynamicsDerivatives',
        'InverseDynamicsDerivatives',
        'derivatives',
        'inverse_dynamics_derivatives',
    ),
    'analysis.equations': (
        'nonlinear_effects',
        'actuated_coordinates',
        'forward_dynamics',
        'gravity_forces',
        'inverse_dynamics',
        'mass_matrix',
    ),
    'analysis.flex_sensors': ('curvatures',),
    'analysis.inverse_kinematics': ('Reach', 'inverse_kinematics'),
    'analysis.jacobians': ('jacobian', 'pose', 'twist', 'twist_rate'),
    'analysis.linear': ('LinearModel', 'linearise'),
    'analysis.natural_modes': ('Modes', 'frequencies', 'modes'),
    'model.payload': ('with_payload',),
    'analysis.static_jacobian': ('static_jacobian',),
    'analysis.statics': ('Equilibrium', 'equilibrium'),
    'analysis.twists': ('convert_rate', 'convert_twist', 'convert_wrench'),
    'batch.batch': ('Batch',),
    'model.arm_builder': ('ArmBuilder',),
    'model.arm_parameters': ('Parameters', 'parameters', 'with_parameters'),
    'model.assembly': ('load',),
    'dynamics.loads': ('Push',),
    'model.arm_model': ('ArmModel',),
    'description': ('RobotDescription', 'read_description'),
    'description.geometry': (
        'Box',
        'Capsule',
        'CompositeSection',
        'Cylinder',
        'Material',
        'Rectangle',
        'Rod',
        'SectionStiffness',
        'Sphere',
        'Tube',
    ),
    'util.exceptions': (
        'DescriptionError',
        'FlexRobotSimError',
        'SettingError',
        'SimulationError',
    ),
    'util.settings': ('SimulationSettings',),
    'util.share': ('robots',),
    'simulation.encoders': ('Encoders',),
    'simulation.imu_sensor': ('ImuSensor',),
    'simulation.rollout': ('rollout',),
    'simulation.simulation': ('Simulation',),
    'simulation.simulation_log': ('SimulationLog',),
    'version': ('__version__',),
}
_PACKAGES = ('control', 'feedback', 'identification', 'planning', 'shaping', 'sweeps')

__all__ = [
    'ArmBuilder',
    'ArmModel',
    'Batch',
    'Box',
    'Capsule',
    'CompositeSection',
    'Cylinder',
    'DescriptionError',
    'Encoders',
    'Equilibrium',
    'FlexRobotSimError',
    'ForwardDynamicsDerivatives',
    'ImuSensor',
    'InverseDynamicsDerivatives',
    'LinearModel',
    'Material',
    'Modes',
    'Parameters',
    'Push',
    'Reach',
    'Rectangle',
    'RobotDescription',
    'Rod',
    'SectionStiffness',
    'SettingError',
    'Simulation',
    'SimulationError',
    'SimulationLog',
    'SimulationSettings',
    'Sphere',
    'Tube',
    'actuated_coordinates',
    'convert_rate',
    'convert_twist',
    'convert_wrench',
    'curvatures',
    'deflection',
    'derivatives',
    'equilibrium',
    'forward_dynamics',
    'frequencies',
    'gravity_forces',
    'inverse_dynamics',
    'inverse_dynamics_derivatives',
    'inverse_kinematics',
    'jacobian',
    'linearise',
    'load',
    'mass_matrix',
    'modes',
    'nonlinear_effects',
    'parameters',
    'pose',
    'read_description',
    'robots',
    'rollout',
    'static_jacobian',
    'twist',
    'twist_rate',
    'with_parameters',
    'with_payload',
]
__all__ += ['control', 'feedback', 'identification', 'planning', 'shaping', 'sweeps']

if not TYPE_CHECKING:  # or a static tool would take any name for one of ours

    def __getattr__(name):
        from flex_robot_sim.util.lazy_names import lazy_names

        find, _ = lazy_names(__name__, _LATER, _PACKAGES)
        globals()['__getattr__'] = find
        return find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
