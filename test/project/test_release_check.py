"""`./run release-check` finds what is wrong, in a copy where one thing at a time is broken."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from project_files import ROOT

from release import check
from release.check import CHECKS, Release, main, verdict

VERSION = '9.8.7'
ADDRESS = 'https://forge.invalid/arms'
HEADING = f'{VERSION} (2031-05-06)'
FILES = {  # a small project that is ready
    'package.xml': f"""<package format="3">
  <name>flex_robot_sim</name>
  <version>{VERSION}</version>
  <description>Arms.</description>
  <maintainer email="arms@forge.invalid">The developers</maintainer>
  <license>Apache-2.0</license>
  <url type="repository">{ADDRESS}</url>
</package>
""",
    'CHANGELOG.rst': f'Changelog\n=========\n\n{HEADING}\n{"-" * len(HEADING)}\n* First.\n',
    'CITATION.cff': f"""version: {VERSION}
date-released: 2031-05-06
repository-code: {ADDRESS}
""",
    'QUALITY_DECLARATION.md': f'`flex_robot_sim` {VERSION} claims level 4.\n',
    'README.md': f"""```sh
git clone {ADDRESS}
```
| flex_robot_sim {VERSION} | a |

checked on 2031-05-06

  version = {{{VERSION}}}
""",
    'LICENSE': 'Free.\n',
    'docs/install.md': f'version = {{{VERSION}}}\n',
    'flex_robot_sim/__init__.py': '',
    'flex_robot_sim/py.typed': '',
    'urdf/arm.urdf': '<robot/>',
    'programs/dynamics': '#!/bin/sh',
    'resource/flex_robot_sim': '',
    'test/data/frames.txt': '00',
}


def git(folder, *words):
    user = ['-c', 'user.name=a', '-c', 'user.email=a@b.invalid']
    subprocess.run(['git', *user, '-C', folder, *words], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    """Return a folder with a small project that git tracks."""
    folder = tmp_path / 'project'
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in ('setup.py', 'MANIFEST.in'):
        shutil.copy(ROOT / name, folder / name)
    git(tmp_path, 'init', '-q', folder)
    git(folder, 'add', '.')
    git(folder, 'commit', '-q', '-m', 'All')
    return folder


def edit(folder, name, old, new):
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def found(folder, name, **archives):
    release = Release(folder, folder.parent / 'work')
    vars(release).update(archives)
    return verdict(CHECKS[name], release)


def test_a_project_that_is_ready_passes(project, monkeypatch):
    monkeypatch.setattr(check.time, 'time', lambda: 1936000000.0)  # in May 2031
    for name, text in {
        'tree': 'no difference from commit ',
        'versions': f'{VERSION} of 2031-05-06 in 7 places',
        'address': ADDRESS,
        'comparison': 'checked on 2031-05-06',
    }.items():
        result, line = found(project, name)
        assert result == 'ok' and line.startswith(text)


def test_another_version_another_date_and_a_missing_file_are_found(project):
    for place in (
        *('CITATION.cff', 'CHANGELOG.rst', 'QUALITY_DECLARATION.md', 'README.md'),
        'docs/install.md',
    ):
        name = 'README.md (comparison)' if place == 'README.md' else place
        edit(project, place, VERSION, '9.8.6')
        result, line = found(project, 'versions')
        assert result == 'FAILS'
        assert line.startswith(f'package.xml has 9.8.7, but {name} has "9.8.6"')
        (project / place).write_text(FILES[place])
    edit(project, 'CITATION.cff', '2031-05-06', '2031-05-07')
    assert found(project, 'versions') == (
        'FAILS',
        'CITATION.cff has the date "2031-05-07", CHANGELOG.rst "2031-05-06"',
    )
    (project / 'CITATION.cff').unlink()
    assert found(project, 'versions') == ('FAILS', 'CITATION.cff is missing')


def test_a_changelog_without_date_is_left_to_the_publisher(project):
    edit(project, 'CHANGELOG.rst', f'{HEADING}\n{"-" * len(HEADING)}', 'Forthcoming\n-----------')
    edit(project, 'CITATION.cff', 'date-released: 2031-05-06\n', '')
    result, line = found(project, 'versions')
    assert result == 'open' and 'set the heading "9.8.7 (DATE)"' in line


@pytest.mark.parametrize('place', ['CITATION.cff', 'README.md'])
def test_another_address_is_found(project, place):
    edit(project, place, ADDRESS, 'https://forge.invalid/legs')
    assert found(project, 'address') == (
        'FAILS',
        f'package.xml has {ADDRESS}, but {place} has https://forge.invalid/legs',
    )


def test_a_placeholder_is_left_to_the_publisher(project):
    for name in ('package.xml', 'CITATION.cff', 'README.md'):
        edit(project, name, ADDRESS, 'https://example.org/arms')
    result, line = found(project, 'address')
    assert result == 'open' and line.startswith('https://example.org/arms in package.xml')


@pytest.mark.parametrize('name', ['README.md', 'new.txt'])
def test_a_change_that_is_not_committed_is_found(project, name):
    (project / name).write_text('new')
    assert found(project, 'tree') == ('FAILS', f'not committed: {name}')


def test_an_old_comparison_is_found(project, monkeypatch):
    monkeypatch.setattr(check.time, 'time', lambda: 1960000000.0)  # in February 2032
    assert found(project, 'comparison') == (
        'FAILS',
        'the comparison in README.md is of 2031-05-06: check it again',
    )


def write_sdist(folder, names):
    path = folder / 'a.tar.gz'
    with tarfile.open(path, 'w:gz') as archive:
        for name in names:
            archive.add(folder / name, f'flex_robot_sim-{VERSION}/{name}')
    return path


def test_files_that_an_sdist_lacks_or_has_too_many_are_found(project):
    names = [*FILES, 'setup.py', 'MANIFEST.in']
    (project / 'secret').touch()
    for files, verdict_of_it in (
        (names, ('ok', f'{len(names)} tracked files, 0.0 MB')),
        (names[:-1], ('FAILS', 'missing (MANIFEST.in): MANIFEST.in')),
        ([*names, 'secret'], ('FAILS', 'not tracked by git: secret')),
    ):
        archives = write_sdist(project, files), None
        assert found(project, 'sdist', archives=archives) == verdict_of_it


def write_wheel(folder, names, version=VERSION):
    path = folder / 'a.whl'
    data = 'f-1.data/data'
    with zipfile.ZipFile(path, 'w') as wheel:
        wheel.writestr('f-1.dist-info/METADATA', f'Version: {version}\n')
        for name in names:
            wheel.writestr(name.format(data=data), '')
    return path


def test_files_that_a_wheel_lacks_are_found(project):
    names = [
        'flex_robot_sim/__init__.py',
        'flex_robot_sim/py.typed',
        '{data}/share/flex_robot_sim/package.xml',
        '{data}/share/flex_robot_sim/urdf/arm.urdf',
        '{data}/lib/flex_robot_sim/dynamics',
    ]
    assert found(project, 'wheel', archives=(None, write_wheel(project, names)))[0] == 'ok'
    for name in names:
        wheel = write_wheel(project, [one for one in names if one != name])
        missing = name.format(data='f-1.data/data')
        assert found(project, 'wheel', archives=(None, wheel)) == (
            'FAILS',
            f'missing (setup.py): {missing}',
        )
    wheel = write_wheel(project, names, '9.8.6')
    assert found(project, 'wheel', archives=(None, wheel)) == (
        'FAILS',
        'setup.py has 9.8.6, package.xml 9.8.7',
    )


def test_first_lines_of_the_readme_that_do_not_run_are_found(project):
    venv = project.parent / 'venv'
    (venv / 'bin').mkdir(parents=True)
    (venv / 'bin' / 'python').symlink_to(sys.executable)
    for code, verdict_of_it in (
        ('print(1)\n', ('ok', '1 lines run in the empty environment')),
        ('raise ValueError(2)\n', ('FAILS', f'{venv}/bin/python -c {{code}} ...: ValueError: 2')),
    ):
        (project / 'README.md').write_text(f'# A\n\n```python\n{code}```\n')
        (project.parent / 'work').mkdir(exist_ok=True)
        result, line = found(project, 'readme-python', environment=venv)
        assert (result, line) == (verdict_of_it[0], verdict_of_it[1].format(code=code))


@pytest.mark.slow
def test_failed_tests_of_pages_are_named(project, monkeypatch):
    (project / 'test_a.py').write_text('def test_a(): pass\ndef test_b(): assert False\n')
    (project / 'conftest.py').write_text(
        'def pytest_addoption(parser): parser.addoption("--parallel", action="store_true")'
    )
    monkeypatch.setattr(check, 'PAGES', ['test_a.py'])
    assert found(project, 'pages') == ('FAILS', 'test_a.py::test_b')


def test_each_check_has_one_line_and_a_failed_one_changes_the_exit_code(project, capsys):
    assert main(['tree', 'address'], project) == 0
    tree, address, total = capsys.readouterr().out.splitlines()
    assert tree.startswith('ok     tree             no difference')
    assert address == f'ok     address          {ADDRESS}'
    assert total == '2 checks: 2 ok, 0 open, 0 FAILS'
    (project / 'package.xml').write_text('<package>')
    assert main(['tree', 'address'], project) == 1
    out = capsys.readouterr().out
    assert 'FAILS  tree             not committed: package.xml\n' in out
    assert 'FAILS  address          no element found: line 1' in out
    with pytest.raises(SystemExit) as caught:
        main(['tre'], project)
    assert caught.value.code == 2 and 'unknown: tre; one of tree,' in capsys.readouterr().err


@pytest.mark.install
@pytest.mark.slow
def test_archives_of_a_project_hold_its_files(project, registry):
    pytest.importorskip('uv')
    release = Release(project, project.parent / 'work')
    assert verdict(CHECKS['sdist'], release)[0] == 'ok'
    assert verdict(CHECKS['wheel'], release)[0] == 'ok'
    edit(project, 'MANIFEST.in', 'graft test\n', '')
    release = Release(project, project.parent / 'again')
    assert verdict(CHECKS['sdist'], release) == (
        'FAILS',
        'missing (MANIFEST.in): test/data/frames.txt',
    )


def test_the_wheel_installs_the_tested_versions_of_numba():
    support = pytest.importorskip('flex_robot_sim.jit.numba_support')
    oldest, newest = support.OLDEST_TESTED_NUMBA, support.NEWEST_TESTED_NUMBA
    requirement = f'numba>={oldest[0]}.{oldest[1]},<{newest[0]}.{newest[1] + 1}'
    assert f"'{requirement}'" in Path(ROOT / 'setup.py').read_text('utf-8')
    pinned = Path(ROOT / 'test' / 'oldest.txt').read_text('utf-8')
    assert f'numba=={oldest[0]}.{oldest[1]}.' in pinned


def test_hosted_machines_run_the_long_tests_of_every_folder():
    workflow = (ROOT / '.github' / 'workflows' / 'long.yml').read_text('utf-8')
    folders = {path.parent.relative_to(ROOT).parts[1] for path in ROOT.glob('test/*/**/test_*.py')}
    # tests of launch files need an installed ROS; those of the ROS plugins are not long
    others = {'launch', 'ros2_plugins'}
    assert sorted(re.findall(r'test/(\w+)', workflow)) == sorted(folders - others)


def test_hosted_machines_test_the_versions_of_python_that_the_package_names():
    workflow = (ROOT / '.github' / 'workflows' / 'test.yml').read_text('utf-8')
    (versions,) = re.findall(r'python: \[(.*)\]', workflow)
    setup = (ROOT / 'setup.py').read_text('utf-8')
    first, after = map(int, re.findall(r'for minor in range\((\d+), (\d+)\)', setup)[0])
    assert versions == ', '.join(f"'3.{minor}'" for minor in range(first, after))
    assert f"python_requires='>=3.{first}'" in setup
