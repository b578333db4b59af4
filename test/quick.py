"""
What `./run test --quick` leaves out: all that takes more than a few seconds of processor time.

Files are those that `--durations=0` says so of; they wait, start other programs, or look at many
cases. Left are style, layers, and what judges the parts of the library one by one.
"""

LEFT_OUT = [
    'nodes',
    'launch',
    'realtime',
    'formulations',
    'reproduce',
    'demo',
    'cli',
    'viewer',
    'reports',
    'identification',
    *(
        f'analysis/test_{name}.py'
        for name in ('equations', 'flex_sensors', 'jacobians', 'linear', 'twists')
    ),
    *(f'analysis/test_{name}.py' for name in ('recorded_vibration',)),
    *(
        f'control/test_{name}.py'
        for name in ('control_benchmark', 'controller_targets', 'joint_controller', 'servo')
    ),
    *(f'feedback/test_{name}.py' for name in ('lqg', 'strain_feedback', 'vibration_feedback')),
    *(f'planning/test_{name}.py' for name in ('iterative_learning', 'planning')),
    *(
        f'shaping/test_{name}.py'
        for name in (
            'online_shaper',
            'recommendation',
            'set_point_stream',
            'shaped_reference',
            'shaper_comparison',
            'shaping_impulses',
        )
    ),
    *(
        f'dynamics/test_{name}.py'
        for name in (
            'adaptive',
            'beam_limits',
            'coupled_damping',
            'dynamics',
            'energy',
            'forces',
            'friction',
            'hard_steps',
            'indices',
            'kinematics',
            'loads',
            'references_rotating',
            'stops',
        )
    ),
    *(f'jit/test_{name}.py' for name in ('compiled', 'array_table')),
    *(f'model/test_{name}.py' for name in ('damping',)),
    *(f'spatial/test_{name}.py' for name in ('screws',)),
    'description/test_strange_text.py',
    'description/test_xacro.py',
    'display/test_display.py',
    'util/test_files.py',
    'util/test_plots.py',
    'ros/test_cdr.py',
    'recording/test_layouts.py',
    'recording/test_mcap_file.py',
    'recording/test_simulated.py',
    'rig/bench',
    'rig/board',
    'rig/conformance',
    *(
        f'rig/{name}.py'
        for name in (
            'bridge/test_bridge',
            'bridge/test_closed_loop',
            'bridge/test_experiment_log',
            'bridge/test_file_mutants',
            'bridge/test_twin',
            'calibration/test_session',
            'estimation/test_estimation',
            'host/test_link',
            'host/test_port',
            'host/test_socket',
            'wire/test_protocol',
        )
    ),
    'sweeps/test_sweep.py',
    'sweeps/test_own_runs.py',
    'sweeps/test_cluster.py',
    'sweeps/test_sweep_page.py',
    'environments',
    *(
        f'project/test_{name}.py'
        for name in (
            'benchmarks',
            'examples',
            'install',
            'pages',
            'run',
            'shown_blocks',
            'site',
            'task_pages',
            'types',
            'warm_programs',
        )
    ),
]
MARKS = ('slow', 'install', 'ros', 'rig')


def is_too_long(item):
    """Whether a test has one of MARKS."""
    return any(item.get_closest_marker(name) for name in MARKS)
