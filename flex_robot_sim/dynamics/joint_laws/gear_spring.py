"""
Spring of a gear with backlash and several stiffnesses, against the twist of the gear (T36).

The spring is the sum of pieces: each pushes in proportion to the twist beyond its corner. The
first corner is half of the backlash; at each further one, the stiffness changes. The force over a
step is the difference of the stored energy over the twist, so that the spring conserves energy.
With backlash, a damper acts on the engaged flank only, and flanks never pull.
"""

from flex_robot_sim.jit.compiled import compiled


@compiled
def flank_force(v, h, start, k, corner, share):
    """
    Force of the pieces on one side over a step, its slope with v, and the engaged part of v.

    :param v: rate of the twist towards this flank at mid-step [rad/s, m/s].
    :param start: twist at the start of the step, towards this flank [rad, m].
    :param k: stiffness of the first piece; share: of each piece over it, (p,); corner: twist where
        each piece begins, (p,) [rad, m].
    """
    end = start + h * v
    force = slope = engaged = 0.0
    for p in range(share.size):
        if share[p] == 0.0:
            break
        before, after = max(start - corner[p], 0.0), max(end - corner[p], 0.0)
        mean = mean_slope = rate = 0.0
        if h == 0.0 or before > 0.0 and after > 0.0:
            mean, mean_slope = 0.5 * (before + after), 0.5 * h
            rate = v if before > 0.0 else 0.0
        elif after > 0.0:
            mean = 0.5 * after * after / (h * v)
            mean_slope, rate = (after - mean) / v, after / h
        elif before > 0.0:
            mean = -0.5 * before * before / (h * v)
            mean_slope, rate = -mean / v, -before / h
        force += k * share[p] * mean
        slope += k * share[p] * mean_slope
        if p == 0:
            engaged = rate
    return force, slope, engaged


@compiled
def damped_flank_force(v, h, start, k, d, corner, share):
    """Force of one side with its damper: part of the spring, total, and slope of the total."""
    spring, slope, engaged = flank_force(v, h, start, k, corner, share)
    if corner[0] == 0.0 or d == 0.0:
        return spring, spring, slope
    force = spring + d * engaged
    if force < 0.0:  # the contact is unilateral
        return spring, 0.0, 0.0
    return spring, force, slope + (d if start + h * v > corner[0] else 0.0)


@compiled
def gear_spring_force(v, h, start, k, d, corner, share):
    """
    Force of a gear against its twist: part of the spring, total, and slope of the total with v.

    :param d: damping [N m s/rad, N s/m]; the other arguments are those of `flank_force`.
    """
    right, right_total, right_slope = damped_flank_force(v, h, start, k, d, corner, share)
    left, left_total, left_slope = damped_flank_force(-v, h, -start, k, d, corner, share)
    spring, force, slope = right - left, right_total - left_total, right_slope + left_slope
    if corner[0] == 0.0:  # without backlash the flanks are always engaged
        return spring, force + d * v, slope + d
    return spring, force, slope


@compiled
def gear_spring_energy(twist, k, corner, share):
    """Energy stored in the spring of a gear [J]."""
    total = 0.0
    for p in range(share.size):
        stretch = max(abs(twist) - corner[p], 0.0)
        total += 0.5 * k * share[p] * stretch * stretch
    return total


@compiled
def gear_spring_slope(twist, k, corner, share, is_engaged):
    """
    Stiffness of a gear at a twist [N m/rad, N/m].

    :param is_engaged: whether the stiffness within the backlash is that of the engaged flank.
    """
    if abs(twist) <= corner[0] and (is_engaged or corner[0] == 0.0):
        return k * share[0]
    total = 0.0
    for p in range(share.size):
        if abs(twist) > corner[p]:
            total += k * share[p]
    return total
