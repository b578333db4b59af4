"""MuJoCo with chopped links: springs, dampers and servos are those of its hinges."""

from time import perf_counter

import mujoco
import numpy as np
from mujoco import rollout

from benchmarks.chopped import merged

_INTEGRATOR = 'mjINT_'
SCHEMES = tuple(
    name
    for name in ('discrete', 'implicit', 'implicitfast', 'Euler', 'RK4')
    if hasattr(mujoco.mjtIntegrator, _INTEGRATOR + name.upper())
)  # all it has
LOST = 1e3  # velocity of a run that is lost [rad/s]

mujoco.set_mju_user_warning(lambda text: None)  # otherwise it writes a file next to the caller


def build(pieces, frames):
    """Return (model, start (n,) [rad], (body, point in its frame [m])) for what `chop` returns."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.disableflags = (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_AUTORESET
    )
    bodies: list[mujoco.MjsBody] = []
    for piece in pieces:
        parent = bodies[piece.parent] if piece.parent >= 0 else spec.worldbody
        body = parent.add_body(pos=piece.p, quat=_quaternion(piece.R))
        lump = merged(piece.lumps)
        I = lump.inertia
        body.explicitinertial, body.mass, body.ipos = True, lump.mass, lump.centre
        body.fullinertia = I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]
        for axis, stiffness, damping, rest in zip(
            piece.axes, piece.stiffness, piece.damping, piece.rest
        ):
            body.add_joint(
                type=mujoco.mjtJoint.mjJNT_HINGE,
                axis=axis,
                stiffness=stiffness,
                damping=damping,
                springref=rest,
            )
        bodies.append(body)
    piece, _, p = frames['tool']
    return spec.compile(), np.concatenate([piece.start for piece in pieces]), (piece + 1, p)


def swing(chain, scheme, steps, end, samples):
    """Return the path of the tool, (samples + 1, 3) [m], and the wall time of the steps [s]."""
    model, start, (body, point) = chain
    model.opt.timestep = end / samples / steps
    model.opt.integrator = getattr(mujoco.mjtIntegrator, _INTEGRATOR + scheme.upper())
    data = mujoco.MjData(model)
    data.qpos[:] = start
    mujoco.mj_kinematics(model, data)
    path, wall = [_tool(data, body, point)], 0.0
    for _ in range(samples):
        started = perf_counter()
        mujoco.mj_step(model, data, steps)
        wall += perf_counter() - started
        if not np.abs(data.qvel).max() < LOST:
            return np.full((samples + 1, 3), np.nan), wall
        mujoco.mj_kinematics(model, data)
        path.append(_tool(data, body, point))
    return np.array(path), wall


def swing_many(chain, scheme, steps, end, samples, count, threads):
    """
    Return the wall time of `count` arms in MuJoCo's batch [s].

    Each call simulates one sample, because MuJoCo stores all intermediate states.
    """
    model, start, _ = chain
    model.opt.timestep = end / samples / steps
    model.opt.integrator = getattr(mujoco.mjtIntegrator, _INTEGRATOR + scheme.upper())
    data = [mujoco.MjData(model) for _ in range(threads)]
    data[0].qpos[:] = start
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data[0], state, kind)
    now, out = np.tile(state, (count, 1)), np.empty((count, steps, state.size))
    sensors = np.empty((count, steps, model.nsensordata))
    with rollout.Rollout(nthread=threads) as pool:
        pool.rollout(model, data, now, nstep=steps, state=out, sensordata=sensors)
        began = perf_counter()
        for _ in range(samples):
            pool.rollout(model, data, now, nstep=steps, state=out, sensordata=sensors)
            now[:] = out[:, -1]
        wall = perf_counter() - began
    assert np.isfinite(now).all()
    return wall


def _tool(data, body, point):
    return data.xpos[body] + data.xmat[body].reshape(3, 3) @ point


def _quaternion(R):
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R).ravel())
    return out
