"""
Sphinx configuration of the pages in this folder, for `./run docs` and rosdoc2.

The pages are Markdown that forges render, too. This file has what only the site needs: the list
of pages, and the treatment of links that leave this folder. rosdoc2 copies the folder and runs
this file from elsewhere, so nothing here depends on its location.
"""

import inspect
import os
import re
from importlib.util import find_spec

project = 'flex_robot_sim'
author = 'The flex_robot_sim developers'
copyright = author

CHAPTERS = {
    'Tasks': (
        'install',
        'simulate_my_arm',
        'flexible_urdf',
        'tune_controller',
        'use_rig',
        'ros_tutorial',
        'view',
        'recording',
        'report',
        'identification',
        'sweep',
    ),
    'Vibration control': (
        'control',
        'moveit_ur',
        'vibrating_printed_arm',
        'tune',
        'control_feedback',
        'control_planning',
    ),
    'Reference': (
        'description',
        'elastic_links',
        'casting',
        'calculix',
        'closed_loops',
        'contact',
        'identification_reference',
        'strain_gauges',
        'ros',
        'ros_controller',
        'ros_shaper',
        'ros2_plugins',
        'moveit',
        'rig_bridge',
        'security',
        'python',
        'programs',
        'shaper_files',
        'shaper_code',
        'shaper_klipper',
        'api',
        'rig',
        'rig_protocol',
    ),
    'Theory': ('theory', 'identification_method', 'architecture'),
    'Results': (
        'comparison',
        'trust',
        'benchmark',
        'control_results',
        'identification_results',
        'rig_results',
        'scale',
        'papers',
        'papers/dual_screw',
        'papers/element_sum',
        'papers/wrench_dae',
        'papers/screw_kinematics',
        'papers/stiffened',
    ),
}
"""Pages by chapter; missing ones are left out."""

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.mathjax', 'sphinx-mathjax-offline']
# the last one is missing with rosdoc2, whose pages are online
extensions = [name for name in extensions if find_spec(name)]
root_doc = 'index'
exclude_patterns = ['_build']
html_theme = 'furo'
html_title = 'flex_robot_sim'
html_static_path, html_css_files = ['style'], ['site.css']
html_favicon = 'style/icon.svg'
html_show_copyright = html_show_sphinx = html_copy_source = False
html_theme_options = {'navigation_with_keys': True}
highlight_language = 'none'  # blocks without a language are terminal output

# as forges do: $...$, `math` blocks, and anchors of headings
myst_enable_extensions = ['dollarmath']
myst_fence_as_directive = ['math']
myst_heading_anchors = 4
myst_dmath_double_inline = False

default_role = 'code'  # docstrings have `names`, not links
smartquotes = False  # quoted words are typed as they are
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'  # docstrings give types with shapes and units
# libraries that may be missing where the pages are built
autodoc_mock_imports = [name for name in ('lxml', 'numba', 'scipy', 'yaml') if not find_spec(name)]
rosdoc2_settings = {'allow_other_extensions': True}

LINK = re.compile(r'(!?)\[([^\]]*)\]\((\.\./[^)\s#]*)(#[^)]*)?\)')
FENCES = re.compile(r'(^```.*?^```$)', re.DOTALL | re.MULTILINE)


def add_chapters(app, docname, source):
    """Append the list of all pages to the start page of the site."""
    if docname != root_doc:
        return
    lists = ''
    for name, pages in CHAPTERS.items():
        there = [f'   {page}' for page in pages if page in app.env.found_docs]
        lists += '\n'.join(
            ['', '.. toctree::', '   :hidden:', f'   :caption: {name}', '', *there, '']
        )
    # rosdoc2 has a start page of its own kind: index.rst.jinja
    is_markdown = app.env.doc2path(docname).suffix == '.md'
    source[0] += f'\n```{{eval-rst}}{lists}```\n' if is_markdown else lists


def end_links_that_leave(app, docname, source):
    """Replace links to folders, pages outside docs/ and missing files by their text."""
    folder = os.path.dirname(app.env.doc2path(docname))

    def words(found):
        _, text, target, _ = found.groups()
        place = os.path.normpath(os.path.join(folder, target))
        is_inside = place.startswith(str(app.srcdir) + os.sep)
        is_file = os.path.isfile(place) and not place.endswith('.md')
        return found[0] if is_inside or is_file else f'{text} (`{target[3:]}`)'

    parts = FENCES.split(source[0])
    parts[::2] = [LINK.sub(words, part) for part in parts[::2]]
    source[0] = ''.join(parts)


def plain_words(app, what, name, obj, options, lines):
    """Escape characters of docstrings that RST would interpret, as in |x| and a*b."""
    for k, line in enumerate(lines):
        if not line.startswith('    '):
            parts = re.split(r'(`[^`]*`)', line)
            parts[::2] = [re.sub(r'([|*\\]|(?<=\w)_(?!\w))', r'\\\1', part) for part in parts[::2]]
            lines[k] = ''.join(parts)


def fields_of(app, what, name, obj, options, lines):
    """Add the comments at the fields of a class to its docstring."""
    if what != 'class' or not hasattr(obj, '__annotations__'):
        return
    rows = []
    for line in inspect.getsource(obj).splitlines():
        field = re.match(r'    (\w+): [^#]*# +(.+)$', line)
        more = re.match(r'    #? +# +(.+)$', line)
        if field and not field[1].startswith('_'):
            rows.append([field[1], field[2]])
        elif more and rows:
            rows[-1][1] += f' {more[1]}'
        elif rows and not line.strip():
            break
    for field, about in rows:
        lines += ['', f'- `{field}`: ' + re.sub(r'\s{2,}', ', ', about)]


def skip_aliases(app, what, name, obj, skip, options):
    """Skip the fields of named tuples, which `fields_of` lists."""
    return skip or (getattr(obj, '__doc__', '') or '').startswith('Alias for field number')


def setup(app):
    """Connect these functions to Sphinx."""
    app.connect('source-read', add_chapters)
    app.connect('source-read', end_links_that_leave)
    app.connect('autodoc-skip-member', skip_aliases)
    app.connect('autodoc-process-docstring', fields_of)
    app.connect('autodoc-process-docstring', plain_words)
