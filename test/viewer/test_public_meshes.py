"""Public meshes: the viewer reads every mesh of the public descriptions with its colour."""

from xml.etree import ElementTree

import pytest
from mesh_reader import needs_meshes
from public_robots import ROBOTS, public_robot

from flex_robot_sim import load
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.viewer.meshes import read_mesh
from flex_robot_sim.viewer.solids import solids

pytest.importorskip('collada', reason='pip install ".[view]"')
pytestmark = [pytest.mark.slow, needs_meshes]

# its triangles refer to a missing material, so pycollada skips them
BROKEN = {'anymal_foot.dae'}
SMALL, SHARE = 200_000, 10  # all meshes below this size [bytes], one in ten of the larger
PART = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_effects><effect id="paint"><profile_COMMON><technique sid="common"><lambert><diffuse>
<color>0.2 0.4 0.8 1</color></diffuse></lambert></technique></profile_COMMON></effect>
</library_effects>
<library_materials><material id="blue"><instance_effect url="#paint"/></material>
</library_materials>
<library_geometries><geometry id="part"><mesh><source id="corners"><float_array id="numbers"
count="9">0 0 0 1 0 0 0 1 0</float_array><technique_common><accessor source="#numbers" count="3"
stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z"
type="float"/></accessor></technique_common></source>
<source id="uv"><float_array id="uvs" count="6">0 0 1 0 0 1</float_array><technique_common>
<accessor source="#uvs" count="3" stride="2"><param name="S" type="float"/><param name="T"
type="float"/></accessor></technique_common></source>
<vertices id="points"><input semantic="POSITION" source="#corners"/></vertices>
<triangles material="blue" count="1"><input semantic="VERTEX" source="#points" offset="0"/>
<input semantic="TEXCOORD" source="#uv" offset="1" set="0"/><p>0 0 1 1 2 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene"><node id="n"><instance_geometry url="#part">
<bind_material><technique_common><instance_material symbol="blue" target="#blue"/>
</technique_common></bind_material></instance_geometry></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>"""


def meshes_by_robot():
    """Return the selected meshes of the wheel, by the folder of their robot."""
    found = (
        sorted(
            path for path in ROBOTS.rglob('*') if path.suffix.lower() in ('.dae', '.obj', '.stl')
        )
        if ROBOTS
        else []
    )
    chosen = [
        path
        for k, path in enumerate(found)
        if path.stat().st_size < SMALL or k % SHARE == 0 or path.name in BROKEN
    ]
    robots: dict = {}
    for path in chosen:
        robots.setdefault(path.relative_to(ROBOTS).parts[0], []).append(path)
    return robots


MESHES = meshes_by_robot()


@pytest.mark.long(after=12)
@pytest.mark.parametrize('robot', MESHES or ['any'])
def test_every_public_mesh_is_read(robot):
    public_robot(robot)
    failed = []
    for path in MESHES[robot]:
        try:
            read_mesh(str(path), '')
        except SettingError as error:
            failed.append((path.name, str(error)))
    assert {name for name, _ in failed} == BROKEN & {path.name for path in MESHES[robot]}, failed


@pytest.mark.parametrize(
    'path',
    [
        'kinova_description/robots/kinova.urdf',
        'z1_description/urdf/z1.urdf',
        'panda_description/urdf/panda.urdf',
    ],
)
def test_a_public_robot_is_drawn_with_all_of_its_links(path):
    urdf = public_robot(path)
    links = {
        link.get('name')
        for link in ElementTree.parse(urdf).iter('link')
        if link.find('visual') is not None
    }
    found, lines = solids(load(str(urdf)))
    assert lines == [] and {solid.link for solid in found} == links


def test_a_texture_without_a_picture_has_the_colour_of_its_material(tmp_path):
    (tmp_path / 'part.dae').write_text(PART)
    colour = read_mesh(str(tmp_path / 'part.dae'), '').colour
    assert colour == pytest.approx((0.2, 0.4, 0.8), abs=1 / 255)


def test_an_unreadable_colour_leaves_the_mesh_without_one(tmp_path, monkeypatch):
    def fail(self):
        raise IndexError('invalid index to scalar variable.')

    monkeypatch.setattr('trimesh.visual.TextureVisuals.to_color', fail)
    (tmp_path / 'part.dae').write_text(PART)
    mesh = read_mesh(str(tmp_path / 'part.dae'), '')
    assert mesh.colour is None and len(mesh.faces) == 1
