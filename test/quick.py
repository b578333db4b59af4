"""
What `./run test --quick` leaves out: all that takes more than a few seconds of processor time.

Files are those that `--durations=0` says so of; they wait, start other programs, or look at many
cases. Left are style, layers, and what judges the parts of the library one by one.
"""

LEFT_OUT = [
    'nodes', 'launch', 'realtime', 'formulations', 'cli', 'viewer', 'reports', 'identification',
    *(f'analysis/test_{name}.py' for name in (
        'equations', 'flex_sensors', 'jacobians', 'linear', 'twists')),
    *(f'control/test_{name}.py' for name in (
        'control_benchmark', 'controller_targets', 'joint_controller', 'learning', 'lqg',
        'online_shaper', 'planning', 'recommendation', 'ringing', 'servo', 'set_point_stream',
        'shaper_choice', 'set_points', 'shaping_impulses', 'strain_feedback',
        'vibration_feedback')),
    *(f'core/test_{name}.py' for name in (
        'adaptive', 'beam_limits', 'compiled', 'damping', 'damping_together', 'dynamics',
        'energy', 'forces', 'friction', 'handle', 'hard_steps', 'indices', 'kinematics', 'loads',
        'references_rotating', 'screws', 'stops')),
    'description/test_strange_text.py', 'description/test_xacro.py',
    'display/test_display.py', 'display/test_plots.py',
    'recording/test_cdr.py', 'recording/test_layouts.py', 'recording/test_mcap_file.py',
    'recording/test_simulated.py',
    *(f'rig/test_{name}.py' for name in (
        'firmware', 'rig_alike', 'rig_bench', 'rig_bridge', 'rig_calibrate_cli',
        'rig_calibration_session', 'rig_cli', 'rig_closed_loop', 'rig_conformance', 'rig_drives',
        'rig_emulator', 'rig_estimation', 'rig_experiment_log', 'rig_file_mutants', 'rig_hold_ups',
        'rig_link', 'rig_mutants', 'rig_port', 'rig_protocol', 'rig_qemu', 'rig_qemu_port',
        'rig_socket', 'rig_twin', 'rig_wire_faults')),
    'sweeps/test_sweep.py', 'sweeps/test_own_runs.py', 'sweeps/test_cluster.py',
    'sweeps/test_sweep_page.py', 'environments',
    *(f'project/test_{name}.py' for name in (
        'benchmarks', 'examples', 'install', 'pages', 'run', 'shown_blocks', 'site', 'task_pages',
        'types', 'warm_programs')),
]
MARKS = ('slow', 'install', 'ros', 'rig')


def is_too_long(item):
    """Whether a test has one of MARKS."""
    return any(item.get_closest_marker(name) for name in MARKS)
