"""
Links of any shape: closed forms, sums over nodes, Exudyn, and times.

`flexsim benchmark links [--page docs/elastic_links.md]`
"""

from benchmarks.limits import measure_rows, row_texts

MODULES = ('tapers', 'statics', 'node_sums', 'floating_frame', 'speed')


def measure(quick=False, modules=MODULES):
    """Return {'links': {words: figure}} of the modules here."""
    return {'links': measure_rows(__name__, modules, quick)}


def as_text(found):
    """Yield a line for each figure."""
    yield from row_texts(found['links'])
