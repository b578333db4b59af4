"""Names and pages have the words of the field, and sentences of the pages are short."""

import ast
import re
import tokenize

import pytest
from page_sentences import sentences, without_code, word_count
from project_files import ROOT

PACKAGE = ROOT / 'flex_robot_sim'

# old name -> new name, in the whole package: modules, classes, functions, parameters, attributes,
# constants and variables
EVERYWHERE = {
    'led_drives': 'prescribed_drives',
    'LedDrives': 'PrescribedDrives',
    'is_led': 'is_prescribed',
    'not_led': 'uncommanded',
    'NOT_LED': 'UNCOMMANDED',
    'advance_led': 'advance_prescribed',
    'tracked': 'tracking_run',
    'advance_tracked': 'advance_tracking',
    'by_address': 'pass_by_pointer',
    'kept_code': 'cache',
    'compile_ahead': 'parallel_warmup',
    'held_signals': 'deferred_signals',
    'signals_held': 'deferred_signals',
    'refining': 'factor_reuse',
    'damping_together': 'coupled_damping',
    'damp_together': 'apply_coupled_damping',
    'carried_inertia': 'composite_inertia',
    'felt_inertia': 'joint_space_inertia',
    'FeltInertia': 'JointSpaceInertia',
    'questions': 'queries',
    'Questions': 'Queries',
    'Scratch': 'ScratchWorkspace',
    'carried_state': 'state_transfer',
    'laden_arm': 'payload_model',
    'LadenArm': 'ControllerModel',
    'Trials': 'SimulatedTrials',
    'trial_moves': 'validation_moves',
    'led_move': 'closed_loop_move',
    'LedMove': 'ClosedLoopMove',
    'hand_over': 'bumpless_transfer',
    'insensitive': 'specified_insensitivity',
    'taps': 'fir_coefficients',
    'pose_follower': 'online_shaper',
    'PoseFollower': 'PoseDependentShaper',
    'shaper_parts': 'shaper_design',
    'ShaperParts': 'ShaperSpecification',
    'set_points': 'shaped_reference',
    'SetPoints': 'ShapedReference',
    'shaper_choice': 'shaper_comparison',
    'Choice': 'ShaperCandidate',
    'kept_rates': 'rate_limiter',
    'KeptRates': 'RateLimiter',
    'Holding': 'HoldMonitor',
    'WeightTable': 'GravityTable',
    'excitation': 'chirp_and_step',
    'told_by_slopes': 'identifiable_from_covariance',
    'told_from_before': 'identifiable_from_refit',
    'onlooker': 'polling_node',
    'Onlooker': 'PollingNode',
    'state_pairs': 'joint_motor_pairing',
    'StatePairs': 'JointMotorPairing',
    'Loop': 'LoopTiming',
    'Sampling': 'LoopTiming',
    'Timing': 'MeasurementTiming',
    'Beat': 'RateGate',
    'Echo': 'RoundTrip',
    'as_built': 'with_realistic_drives',
    'bell': 'wake_up',
    'Bell': 'threading.Event',
    'caution': 'regularization',
    'complaint': 'warning',
    'EstimatedNumber': 'ParameterEstimate',
    'held_out': 'validation_variance',
    'Look': 'ArmMeasurements',
    'nudge': 'weight_step',
    'trades_with': 'correlated_with',
}
# fields of the tables of the kernels, and their parameters and variables
IN_DYNAMICS = {
    'given': 'prescribed',
    'rising': 'base_acceleration',
    'law': 'joint_force',
    'cornered': 'is_nonsmooth',
    'ease': 'relaxation',
    'felt': 'inertia_scale',
}
# words of the pages: pattern -> what to write
IN_PAGES = {
    r'who(?:ever|m)?|(?:no|some|any|every)(?:body|one)': 'the component, you',
    r'beside': 'next to, in parallel with, compared with',
    r'likewise': 'the same applies to',
    r'rings|ringing|rang': 'residual vibration, vibrates',
    r'told|tells?': 'determines, reports, prints',
    r'leads|led': 'is prescribed, causes, shows',
    r'judges?|judged|judging': 'reference, independent check',
    r'at will|for good|in vain|by itself|anew': '(leave out)',
}
PAGES = [
    'README.md',
    'CHANGELOG.rst',
    'CONTRIBUTING.md',
    'QUALITY_DECLARATION.md',
    'SECURITY.md',
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / 'docs').rglob('*.md')),
]
# the same of comments and docstrings
IN_COMMENTS = {
    r'who(?:ever|m)?|(?:no|some|any|every)body': 'the component, you',
    r'besides?': 'next to, in parallel with, compared with',
    r'likewise': 'the same applies to',
    r'rang|rings(?! of)|ringing(?!_)': 'residual vibration, vibrates',
    r'told|tells?|telling': 'determines, reports, prints',
    r'lent|lends?|laden|felt': 'the verb of the API',
    r'judges?|judged|judging': 'reference, independent check',
    r'sees|one another': 'measures, receives; each other',
    r'at will|for good|in vain|anew': '(leave out)',
}
PROGRAMS = ['flex_robot_sim', 'benchmarks', 'docs', 'examples', 'launch', 'release', 'test']
MAX_WORDS = 25  # of a sentence


def names_of(path):
    """Yield (name, line) of all that a module defines, takes or asks for, and of the module."""
    yield path.stem, 0
    for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        for field in ('name', 'arg', 'attr', 'id'):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name, getattr(node, 'lineno', 0)


def old_names(path, names):
    """Return a line for each old name in a module."""
    place = path.relative_to(ROOT)
    return [
        f'{place}:{line}: {name}: write {names[name]}'
        for name, line in names_of(path)
        if name in names
    ]


@pytest.mark.parametrize(
    'room', sorted(path.name for path in PACKAGE.iterdir() if (path / '__init__.py').exists())
)
def test_names_are_those_of_the_field(room):
    names = EVERYWHERE | (IN_DYNAMICS if room in ('dynamics', 'model', 'simulation') else {})
    found = [
        line for path in sorted((PACKAGE / room).rglob('*.py')) for line in old_names(path, names)
    ]
    assert found == []


def test_an_old_name_is_found(tmp_path):
    path = tmp_path / 'flex_robot_sim' / 'kernel.py'
    path.parent.mkdir()
    path.write_text('def step(arm, is_led):\n    return arm.felt\n')
    names = EVERYWHERE | IN_DYNAMICS
    found = [(name, line) for name, line in names_of(path) if name in names]
    assert found == [('is_led', 1), ('felt', 2)]


def old_words(page):
    """Return a line for each word of a page that has a better one."""
    return [
        f'{number}: {word}: write {better}'
        for number, line in enumerate(without_code(page).splitlines(), 1)
        for pattern, better in IN_PAGES.items()
        for word in re.findall(rf'\b(?:{pattern})\b', line, re.IGNORECASE)
    ]


@pytest.mark.parametrize('page', PAGES)
def test_pages_have_words_of_the_field(page):
    assert old_words((ROOT / page).read_text('utf-8')) == []


@pytest.mark.parametrize('page', [page for page in PAGES if page.endswith('.md')])
def test_sentences_of_pages_are_short(page):
    assert [
        f'{line}: {word_count(sentence)} words: {sentence}'
        for line, sentence in sentences((ROOT / page).read_text('utf-8'))
        if word_count(sentence) > MAX_WORDS
    ] == []


def test_old_words_and_long_sentences_are_found():
    page = 'The arm *rings*, which `told` the user.\n\n```\nwho\n```\nIt tells\nnobody.\n'
    assert [line.partition(': write')[0] for line in old_words(page)] == [
        '1: rings',
        '6: tells',
        '7: nobody',
    ]
    text = f'# A heading\n\n- One. {"word " * 26}end [with a link](to/a%20page.md).\n\n| a | b |\n'
    assert [(line, word_count(one)) for line, one in sentences(text)] == [(3, 1), (3, 30)]


def comments(path):
    """Yield (line, text) of each comment and of each line of a docstring of a module."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstring = ast.get_docstring(node, clean=False)
            yield from enumerate(docstring.splitlines(), node.body[0].lineno)


def old_words_of_comments(path):
    """Return a line for each word in comments and docstrings that has a better one."""
    return [
        f'{path.name}:{line}: {word}: write {better}'
        for line, text in comments(path)
        for pattern, better in IN_COMMENTS.items()
        for word in re.findall(rf'\b(?:{pattern})\b', text, re.IGNORECASE)
    ]


@pytest.mark.slow
@pytest.mark.parametrize('folder', PROGRAMS)
def test_comments_and_docstrings_have_words_of_the_field(folder):
    paths = sorted((ROOT / folder).rglob('*.py'))
    assert [line for path in paths for line in old_words_of_comments(path)] == []
    assert paths


def test_an_old_word_in_a_comment_or_a_docstring_is_found(tmp_path):
    path = tmp_path / 'arm.py'
    path.write_text('"""An arm.\n\nIt rings.\n"""\n\nrings = \'who\'  # told by a log\n')
    assert [line.partition(': write')[0] for line in old_words_of_comments(path)] == [
        'arm.py:6: told',
        'arm.py:3: rings',
    ]
