"""Input files and matrix files of CalculiX for meshes of quadratic tetrahedra."""

from scipy import sparse


def mesh_text(mesh):
    """Return nodes and elements, numbered from 1."""
    nodes = ''.join(
        f'{i}, {x:.12e}, {y:.12e}, {z:.12e}\n' for i, (x, y, z) in enumerate(mesh.nodes, 1)
    )
    elements = ''.join(
        f'{i}, ' + ', '.join(map(str, row + 1)) + '\n' for i, row in enumerate(mesh.elements, 1)
    )
    return f'*NODE, NSET=NALL\n{nodes}*ELEMENT, TYPE=C3D10, ELSET=EALL\n{elements}'


def storage_text(mesh, material, held=()):
    """Return an input that stores stiffness and mass; `held` nodes do not move."""
    boundary = ''.join(f'{node + 1}, 1, 3\n' for node in held)
    return (
        mesh_text(mesh)
        + f'*MATERIAL, NAME=M\n*ELASTIC\n{material.E:.12e}, {material.nu:.12e}\n'
        + f'*DENSITY\n{material.density:.12e}\n*SOLID SECTION, ELSET=EALL, MATERIAL=M\n'
        + (f'*BOUNDARY\n{boundary}' if boundary else '')
        + '*STEP\n*FREQUENCY, SOLVER=MATRIXSTORAGE\n4\n*END STEP\n'
    )


def loaded_text(mesh, material, held, forces):
    """Return an input that stores the tangent under forces (N, 3) with held nodes; all rows."""
    rows = [
        (node, axis, value)
        for node, row in enumerate(forces, 1)
        for axis, value in enumerate(row, 1)
        if abs(value) > 1e-9 * abs(forces).max()
    ]
    loads = ''.join(f'{node}, {axis}, {value:.11e}\n' for node, axis, value in rows)
    text = storage_text(mesh, material).split('*STEP')[0]
    boundary = ''.join(f'{node + 1}, 1, 3\n' for node in held)
    return (
        f'{text}*STEP, NLGEOM\n*STATIC\n1.0, 1.0\n*BOUNDARY\n{boundary}*CLOAD\n{loads}*END STEP\n'
        '*STEP, PERTURBATION\n*FREQUENCY, SOLVER=MATRIXSTORAGE\n4\n*BOUNDARY, OP=NEW\n*END STEP\n'
    )


def triangle(matrix):
    return sparse.triu(matrix).tocoo()


def write_calculix(folder, full):
    for name, matrix in zip(('run.sti', 'run.mas'), full):
        upper = triangle(matrix)
        rows = zip(upper.row + 1, upper.col + 1, upper.data)
        (folder / name).write_text(''.join(f'{i} {j} {v:.16e}\n' for i, j, v in rows))
    count = full[0].shape[0] // 3
    (folder / 'run.dof').write_text(
        ''.join(f'{n}.{d}\n' for n in range(1, count + 1) for d in (1, 2, 3))
    )
    return [folder / name for name in ('run.sti', 'run.mas', 'run.dof')]
