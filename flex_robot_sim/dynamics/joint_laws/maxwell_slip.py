"""
Maxwell slip: springs that slip at a force, for hysteresis of gears and friction before sliding.

An element with the stiffness k has the deflection z, at most x in both directions, and slips at
the force k x. A joint has several elements in parallel. Over a step that moves the joint by d,

    z1 = clamp(z0 + d, -x, x)
    F d = k/2 (z1^2 - z0^2) + k x |d - (z1 - z0)|                                           (T34)

so that F stores and dissipates exactly what the elements do, for any step. F increases with d and
has a continuous slope. Al-Bender, Lampaert & Swevers, IEEE Trans. Automatic Control 50 (2005).
"""

from flex_robot_sim.dynamics.joint_laws.gear_twist import transmission_of
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.friction import friction_level, static_friction
from flex_robot_sim.model.slip_elements import FRICTION, GEAR


@compiled
def clamped(z, largest):
    """A deflection within its largest one, finite for any z."""
    if z > largest:
        return largest
    if z >= -largest:
        return z
    return -largest


@compiled
def slip_force(d, z, k, x, k_scale, x_scale):
    """
    Force of elements against a displacement d over a step, and its slope with d.

    :param z: deflections at the start, (e,) [rad, m]; empty: no elements, no force.
    :param k: stiffnesses, (e,), times k_scale [N m/rad, N/m]; x: largest deflections, times
        x_scale, (e,) [rad, m].
    """
    force = slope = 0.0
    for e in range(z.size):
        largest, stiffness = x_scale * x[e], k_scale * k[e]
        start = clamped(z[e], largest)
        end = clamped(start + d, largest)
        stretch = end - start
        if stretch == d:
            force += stiffness * (start + 0.5 * d)
            slope += 0.5 * stiffness
        else:
            share = stretch / d
            force += stiffness * (end - 0.5 * share * stretch)
            slope += 0.5 * stiffness * share * share
    return force, slope


@compiled
def slip_loss(d, z, k, x, k_scale, x_scale, z_end):
    """
    Energy that elements dissipate over a step [J]; z_end (e,) receives their deflections.

    A level of friction that has decreased since the last step lets elements slip at the start.
    """
    loss = 0.0
    for e in range(z.size):
        largest, stiffness = x_scale * x[e], k_scale * k[e]
        start = clamped(z[e], largest)
        end = clamped(start + d, largest)
        loss += 0.5 * stiffness * (z[e] * z[e] - start * start)
        loss += stiffness * largest * abs(d - (end - start))
        z_end[e] = end
    return loss


@compiled
def has_presliding(arm, work, j):
    """Whether the friction of a joint has elements, and the workspace their deflections."""
    return work.slip.shape[2] > 0 and arm.slip_stiffness[j, FRICTION, 0] > 0.0


@compiled
def friction_elements(arm, j, rate, slips, work):
    """
    Arguments of `slip_force` for the friction of joint j at a rate [rad/s, m/s].

    :param slips: `has_presliding` of this joint; otherwise there are no elements.
    """
    static = level = 1.0
    elements = 0
    if slips:
        elements = work.slip.shape[2]
        static, level = friction_scale(arm, j, rate)
    return (
        work.slip[j, FRICTION, :elements],
        arm.slip_stiffness[j, FRICTION],
        arm.slip_limit[j, FRICTION],
        static,
        level,
    )


@compiled
def gear_elements(arm, j, work):
    """Arguments of `slip_force` for the gear of joint j."""
    return (work.slip[j, GEAR], arm.slip_stiffness[j, GEAR], arm.slip_limit[j, GEAR], 1.0, 1.0)


@compiled
def friction_scale(arm, j, rate):
    """Friction at rest [N m, N], and its level at a rate relative to it."""
    static = static_friction(arm.friction[j])
    return static, friction_level(rate, arm.friction[j]) / static if static > 0.0 else 0.0


@compiled
def slip_until_end(arm, q, qd, qdd, h, work):
    """
    Energy dissipated by all elements over a step [J]; sets `work.slip_end`.

    :param q: coordinates at mid-step, (n,); qd: rates; qdd: accelerations; h: step [s].
    """
    loss = 0.0
    for j in range(arm.motor.size):
        m = arm.motor[j]
        driven = j if m < 0 else m
        for row in (GEAR, FRICTION):
            k_scale = x_scale = 1.0
            rate = qd[driven]
            if row == FRICTION:
                k_scale, x_scale = friction_scale(arm, j, rate - 0.5 * h * qdd[driven])
            elif m < 0:
                continue
            else:
                rate = transmission_of(arm, j, q, qd, h) * rate - qd[j]
            loss += slip_loss(
                h * rate,
                work.slip[j, row],
                arm.slip_stiffness[j, row],
                arm.slip_limit[j, row],
                k_scale,
                x_scale,
                work.slip_end[j, row],
            )
    return loss


@compiled
def copy_slip(source, target):
    """Copy the deflections of all elements."""
    for j in range(source.shape[0]):
        for e in range(source.shape[2]):
            target[j, GEAR, e], target[j, FRICTION, e] = source[j, GEAR, e], source[j, FRICTION, e]


@compiled
def slip_energy(arm, work):
    """Energy stored in all elements at the end of the last step [J]."""
    total = 0.0
    for j in range(arm.motor.size):
        for row in (GEAR, FRICTION):
            scale = static_friction(arm.friction[j]) if row == FRICTION else 1.0
            for e in range(work.slip_end.shape[2]):
                z = work.slip_end[j, row, e]
                total += 0.5 * scale * arm.slip_stiffness[j, row, e] * z * z
    return total
