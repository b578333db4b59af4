"""
What a release needs: one line per check, with its verdict.

`./run release-check` runs all checks, `./run release-check versions address` runs two. Verdicts:

    ok     the check passes
    open   only the publisher can do this: the address of the repository, the date of the release
    FAILS  what has to be corrected first; the exit code is 1
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from email.parser import HeaderParser
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
NAME = 'flex_robot_sim'
PLACEHOLDER = 'example.org'
PAGES = [f'test/project/test_{name}.py' for name in ('named_files', 'pages', 'site')]
SHOWN = [f'test/project/test_{name}.py' for name in ('shown_blocks', 'task_pages')]
MAX_COMPARISON_AGE_DAYS = 183  # other simulators change; the table of the README is dated
SHARED = ('config/', 'examples/', 'firmware/', 'launch/', 'meshes/', 'urdf/')  # files in share/
PROGRAM_OPTIONS = {'demo': ['--seconds', '2', '--inside', '--no-view']}  # otherwise it runs on


class Problem(Exception):
    """A check fails."""


class Open(Exception):
    """Only the publisher can complete this."""


def output_of(*words, **options) -> str:
    """Return what a program prints; Problem with its last line if it fails."""
    done = subprocess.run(
        [*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode:
        lines = done.stdout.strip().splitlines() or [f'exit code {done.returncode}']
        raise Problem(f'{" ".join(map(str, words[:5]))} ...: {lines[-1].strip()}')
    return done.stdout


def shortened(names) -> str:
    """Return the first names of a list, and how many there are."""
    names = sorted(names)
    return ', '.join(names[:3]) + (f' and {len(names) - 3} more' if len(names) > 3 else '')


class Release:
    """The files of a release: those that git tracks in a folder, and the archives made of them."""

    def __init__(self, folder: Path, work: Path):
        """Use `folder` as it is, and the empty folder `work` for everything that is made."""
        self.folder, self.work = folder, work

    def text(self, path: str) -> str:
        """Return the content of a file; Problem if it is missing."""
        if not (self.folder / path).is_file():
            raise Problem(f'{path} is missing')
        return (self.folder / path).read_text('utf-8')

    def field(self, path: str, pattern: str) -> str:
        """Return what a pattern finds in a file, or ''."""
        found = re.search(pattern, self.text(path), re.MULTILINE)
        return found[1] if found else ''

    @cached_property
    def manifest(self):
        """The elements of package.xml."""
        return ElementTree.fromstring(self.text('package.xml'))

    @cached_property
    def version(self) -> str:
        """The version in package.xml."""
        return self.manifest.findtext('version', '')

    @cached_property
    def tracked(self) -> set[str]:
        """Paths that git tracks, except those that start with a dot."""
        names = output_of('git', 'ls-files', cwd=self.folder).splitlines()
        return {name for name in names if not re.search(r'(^|/)\.', name)}

    @cached_property
    def archives(self) -> tuple[Path, Path]:
        """Source distribution, and the wheel that is made of it."""
        tree = self.work / 'tree'
        for name in self.tracked:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((self.folder / name).read_bytes())
            (tree / name).chmod((self.folder / name).stat().st_mode)
        output_of(*UV, 'build', '--quiet', '--out-dir', self.work / 'dist', tree)
        (sdist,) = (self.work / 'dist').glob('*.tar.gz')
        (wheel,) = (self.work / 'dist').glob('*.whl')
        return sdist, wheel

    @cached_property
    def environment(self) -> Path:
        """An environment with the wheel, ROS and the viewer, and nothing else."""
        venv, wheel = self.work / 'venv', self.archives[1]
        output_of(*UV, 'venv', '--quiet', '--python', sys.executable, venv)
        install = [*UV, 'pip', 'install', '--quiet', '--python', venv]
        output_of(*install, f'{NAME}[ros,view] @ file://{wheel}')
        return venv

    def call(self, program: str, *words: str) -> str:
        """Return the output of an installed program, started far from the sources."""
        (self.work / 'user').mkdir(exist_ok=True)
        variables = {k: v for k, v in os.environ.items() if not k.startswith('PYTHON')}
        path = self.environment / 'bin' / program
        return output_of(path, *words, cwd=self.work / 'user', env=variables)


UV = (sys.executable, '-m', 'uv')


def check_tree(release: Release) -> str:
    """Nothing differs from the last commit."""
    changes = output_of('git', 'status', '--porcelain', cwd=release.folder).splitlines()
    if changes:
        raise Problem(f'not committed: {shortened(line[3:] for line in changes)}')
    commit = output_of('git', 'rev-parse', '--short', 'HEAD', cwd=release.folder).strip()
    return f'no difference from commit {commit}'


def check_versions(release: Release) -> str:
    """All files state the version, and the date of the release, of package.xml."""
    heading = release.field('CHANGELOG.rst', r'^(.*)\n-{4,}$')
    version, _, date = heading.partition(' (')
    citation = r'^ *version *= *\{(.*)\}'
    stated = {
        'CHANGELOG.rst': release.version if heading == 'Forthcoming' else version,
        'CITATION.cff': release.field('CITATION.cff', r'^version: (\S+)'),
        'QUALITY_DECLARATION.md': release.field('QUALITY_DECLARATION.md', rf'`{NAME}` (\d[\w.]*)'),
        'README.md (comparison)': release.field('README.md', rf'^\| {NAME} (\S+) \|'),
        'README.md (citation)': release.field('README.md', citation),
        'docs/install.md': release.field('docs/install.md', citation),
    }
    wrong = [f'{place} has "{it}"' for place, it in stated.items() if it != release.version]
    if wrong:
        raise Problem(f'package.xml has {release.version}, but {"; ".join(wrong)}')
    cited = release.field('CITATION.cff', r'^date-released: (\S+)')
    if cited != date.rstrip(')'):
        raise Problem(f'CITATION.cff has the date "{cited}", CHANGELOG.rst "{date.rstrip(")")}"')
    if heading == 'Forthcoming':
        raise Open(
            f'{release.version} everywhere; set the heading "{release.version} (DATE)" in '
            'CHANGELOG.rst and "date-released: DATE" in CITATION.cff'
        )
    return f'{release.version} of {cited} in {len(stated) + 1} places'


def check_address(release: Release) -> str:
    """The address of the repository is filled in, and the same everywhere."""
    address = release.manifest.findtext('url', '')
    cited = release.field('CITATION.cff', r'^repository-code: (\S+)')
    places = {'CITATION.cff': [cited]}
    for name in sorted(release.tracked):
        if name.endswith(('.md', '.rst')):
            places[name] = re.findall(r'git clone (?:-\S+ )*(\w+:\S+)', release.text(name))
    wrong = [f'{name} has {url}' for name in places for url in places[name] if url != address]
    if wrong:
        raise Problem(f'package.xml has {address}, but {"; ".join(wrong)}')
    email = release.field('package.xml', r'<maintainer email="(.*?)"')
    holes = [text for text in (address, email) if PLACEHOLDER in text]
    if holes:
        raise Open(f'{" and ".join(holes)} in package.xml: to be filled in (CONTRIBUTING.md)')
    return address


def check_sdist(release: Release) -> str:
    """The source distribution holds all tracked files, and no others."""
    with tarfile.open(release.archives[0]) as archive:
        names = {item.name.partition('/')[2] for item in archive if item.isfile()}
    made = {'PKG-INFO', 'setup.cfg', *(n for n in names if n.startswith(f'{NAME}.egg-info/'))}
    if missing := release.tracked - names:
        raise Problem(f'missing (MANIFEST.in): {shortened(missing)}')
    if more := names - release.tracked - made:
        raise Problem(f'not tracked by git: {shortened(more)}')
    size = release.archives[0].stat().st_size / 1e6
    return f'{len(names - made)} tracked files, {size:.1f} MB'


def check_wheel(release: Release) -> str:
    """The wheel holds the package, its shared files and the metadata of package.xml."""
    path = release.archives[1]
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        (about,) = (name for name in names if name.endswith('.dist-info/METADATA'))
        metadata = HeaderParser().parsestr(wheel.read(about).decode())
    data = about.replace('.dist-info/METADATA', '.data/data')
    wanted = {name for name in release.tracked if name.startswith(f'{NAME}/')}
    wanted |= {f'{data}/share/{NAME}/{n}' for n in release.tracked if n.startswith(SHARED)}
    wanted |= {
        f'{data}/lib/{NAME}/{name[len("programs/") :]}'
        for name in release.tracked
        if name.startswith('programs/')
    }
    if missing := {*wanted, f'{data}/share/{NAME}/package.xml'} - names:
        raise Problem(f'missing (setup.py): {shortened(missing)}')
    if metadata['Version'] != release.version:
        raise Problem(f'setup.py has {metadata["Version"]}, package.xml {release.version}')
    return f'{len(names)} files, {path.stat().st_size / 1e6:.1f} MB, {path.name}'


def check_twine(release: Release) -> str:
    """The registry of Python packages would accept both archives."""
    output_of(sys.executable, '-m', 'twine', '--no-color', 'check', '--strict', *release.archives)
    return 'twine accepts sdist and wheel'


def check_install(release: Release) -> str:
    """The wheel installs into an empty environment, with consistent requirements."""
    output_of(*UV, 'pip', 'check', '--quiet', '--python', release.environment)
    said = release.call('flexsim', '--version').split()[-1]
    if said != release.version:
        raise Problem(
            f'the installed flexsim is version {said}, package.xml has {release.version}'
        )
    count = len(list((release.environment / 'lib').glob('python3*/site-packages/*.dist-info')))
    return f'{count} packages in an empty environment with ROS and viewer'


def first_block(release: Release, language: str) -> str:
    """Return the first block of a language in the README."""
    if not (found := release.field('README.md', rf'^```{language}\n([\s\S]*?)^```$')):
        raise Problem(f'README.md has no block of {language}')
    return found


def check_readme_python(release: Release) -> str:
    """The first lines of Python in the README run in the empty environment."""
    code = first_block(release, 'python')
    release.call('python', '-c', code)
    return f'{len(code.splitlines())} lines run in the empty environment'


def check_readme_commands(release: Release) -> str:
    """The first commands of the README run in the empty environment."""
    lines = re.findall(r'^\./run (.*?)(?:\s+#.*)?$', first_block(release, 'sh'), re.MULTILINE)
    commands = [line.split() for line in lines if line.split()[0] not in ('test', 'docs')]
    for command, *words in commands:
        release.call('flexsim', command, *words, *PROGRAM_OPTIONS.get(command, []))
    return ', '.join(f'flexsim {command}' for command, *_ in commands) + ': exit code 0'


def check_comparison(release: Release) -> str:
    """The table of the README that compares simulators has a recent date."""
    date = release.field('README.md', r'checked on (\d{4}-\d\d-\d\d)')
    if not date:
        raise Problem('README.md does not state "checked on DATE" below the comparison')
    age = (time.time() - time.mktime(time.strptime(date, '%Y-%m-%d'))) / 86400
    if age > MAX_COMPARISON_AGE_DAYS:
        raise Problem(f'the comparison in README.md is of {date}: check it again')
    return f'checked on {date}'


def run_tests(release: Release, paths: list[str]) -> str:
    """Run tests of the project; Problem names those that fail."""
    words = [sys.executable, '-m', 'pytest', '-q', '--parallel', '-p', 'no:cacheprovider', *paths]
    done = subprocess.run(words, cwd=release.folder, capture_output=True, text=True)
    failed = re.findall(r'^(?:FAILED|ERROR) (\S+)', done.stdout, re.MULTILINE)
    if done.returncode:
        raise Problem(shortened(failed) or (done.stdout + done.stderr).strip().splitlines()[-1])
    return done.stdout.strip().splitlines()[-1]


def check_pages(release: Release) -> str:
    """Links, anchors and named files of all pages exist."""
    return run_tests(release, PAGES)


def check_shown(release: Release) -> str:
    """Commands and outputs that pages show are those of this version."""
    return run_tests(release, SHOWN)


def check_trust(release: Release) -> str:
    """The page of trust figures has all checks of this version, and each one holds."""
    release.text('docs/trust.md')
    program = f"""
from pathlib import Path
from benchmarks.trust import checks
from benchmarks.trust.table import problems
known = checks()
found = problems(Path('docs/trust.md').read_text('utf-8'), known, {release.version!r})
print(f'{{len(known)}} checks hold' if not found else '; '.join(found))
raise SystemExit(bool(found))
"""
    return output_of(sys.executable, '-c', program, cwd=release.folder).strip().splitlines()[-1]


CHECKS: dict[str, Callable[[Release], str]] = {
    name.removeprefix('check_').replace('_', '-'): function
    for name, function in list(globals().items())
    if name.startswith('check_')
}


def verdict(check: Callable[[Release], str], release: Release) -> tuple[str, str]:
    """Return the verdict of a check, and what it found."""
    try:
        return 'ok', check(release)
    except Open as error:
        return 'open', str(error)
    except (Problem, ElementTree.ParseError) as error:
        return 'FAILS', str(error)


def main(words: list[str] | None = None, folder: Path = ROOT) -> int:
    """Print one line per check; return 1 if any fails."""
    parser = argparse.ArgumentParser(
        prog='./run release-check',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('checks', nargs='*', metavar='CHECK', help=', '.join(CHECKS))
    names = parser.parse_args(words).checks or list(CHECKS)
    if unknown := set(names) - set(CHECKS):
        parser.error(f'unknown: {", ".join(sorted(unknown))}; one of {", ".join(CHECKS)}')
    counts = {'ok': 0, 'open': 0, 'FAILS': 0}
    with tempfile.TemporaryDirectory(prefix='release_') as work:
        release = Release(folder, Path(work))
        for name in names:
            result, found = verdict(CHECKS[name], release)
            counts[result] += 1
            print(f'{result:5}  {name:15}  {found}', flush=True)
    print(f'{len(names)} checks: ' + ', '.join(f'{counts[word]} {word}' for word in counts))
    return min(counts['FAILS'], 1)


if __name__ == '__main__':
    sys.exit(main())
