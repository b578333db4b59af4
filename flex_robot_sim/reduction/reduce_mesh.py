"""A mesh with interfaces to a reduced link."""

from collections.abc import Sequence

from flex_robot_sim.reduction.elasticity import Material, Mesh
from flex_robot_sim.reduction.reduce_model import model_of, reduce_model
from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.reduction.supports import Interface


def reduce_mesh(
    mesh: Mesh,
    material: Material,
    interfaces: Sequence[Interface],
    modes: int = 6,
    kind: str = 'rigid',
) -> ReducedLink:
    """Return the reduced link of a mesh; the arguments are those of `reduce_model`."""
    return reduce_model(model_of(mesh, material), interfaces, modes, kind)
