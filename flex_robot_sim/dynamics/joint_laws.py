"""
What acts along one coordinate of a joint: its motor, its spring, its friction and its stops.

Every law is a force that never grows with the rate, so that it has one solution at any step h. A
step knows the rate v at its middle; with the rate v0 at its start, its end has v1 = 2 v - v0, and
the coordinate moves from q0 to q0 + h v. Stops and dry friction are dissipative by construction,
whatever the step, the inertia and the other laws do (T31, T32). With h = 0 the laws are those of
an instant. All functions take plain numbers: a call with an arm costs more than its work.
"""

from math import exp, tanh

from flex_robot_sim.jit.compiled import compiled

TAPER = 0.02            # share of the largest rate in which a motor ceases to push
STUCK = 1e9             # damping of what sticks, over the inertia and the step: a rate of nothing
TRIES = 60              # corrections of a rate at most; halving alone comes to rounding in these


@compiled
def lasting_rate(v, v0, h):
    """
    Rate that has the same sign at the middle and at the end of a step, and its slope with v.

    What opposes it takes energy however long the step is, and brings to rest without a rebound.
    """
    if h == 0.0:
        return v, 1.0
    v1 = 2.0 * v - v0
    if v * v1 <= 0.0:
        return 0.0, 0.0
    return (v1 if abs(v1) < abs(2.0 * v) else 2.0 * v), 2.0


@compiled
def stop_push(v, v0, h, gap, k, d, depth):
    """
    Push of one stop: of its spring, in all, and the slope of the latter with v (T31).

    :param v: rate into the stop at mid-step, v0 at the start [rad/s, m/s].
    :param gap: way into the stop at the start, negative outside [rad, m].
    :param k: stiffness; d: damping, in full force from `depth` on [rad, m].
    """
    end = gap + h * v
    before, after = max(gap, 0.0), max(end, 0.0)
    if before == 0.0 and after == 0.0:
        return 0.0, 0.0, 0.0
    # difference of the stored energy over the way, so that the spring gives back what it took
    if before > 0.0 and after > 0.0 or h == 0.0:
        spring, slope = 0.5 * k * (before + after), 0.5 * k * h
    elif after > 0.0:
        spring, slope = 0.5 * k * after * after / (h * v), 0.5 * k * after * (h * v - gap) / (
            h * v * v)
    else:
        spring, slope = -0.5 * k * before * before / (h * v), 0.5 * k * before * before / (
            h * v * v)
    rate, rate_slope = lasting_rate(v, v0, h)
    share = spring / (k * depth)
    if share < 1.0:
        slope *= 1.0 + d * rate / (k * depth)
    else:
        share = 1.0
    push = spring + d * share * rate
    if push < 0.0:              # a stop pushes and never pulls
        return spring, 0.0, 0.0
    return spring, push, slope + d * share * rate_slope


@compiled
def motor_pull(v, p, s, limit, rate_limit):
    """
    Force of a motor that would give p - s v, and what it loses by rate.

    :param limit: of the force [N m, N]; rate_limit: from which it no longer pushes [rad/s, m/s].
    """
    pull = p - s * v
    if abs(pull) > limit:
        pull, s = (limit if pull > 0.0 else -limit), 0.0
    beyond = abs(v) - rate_limit
    if beyond > 0.0 and pull * v > 0.0:
        share = 1.0 - beyond / (TAPER * rate_limit)
        if share <= 0.0:
            return 0.0, 0.0
        return share * pull, share * s + abs(pull) / (TAPER * rate_limit)
    return pull, s


@compiled
def smooth_force(v, v0, h, a, s, p, ps, limit, rate_limit, above, below, k, d, depth):
    """
    Force of everything but dry friction, and what it loses by rate.

    :param a: force a - s v of springs and dampers; p, ps: likewise of the motor, see `motor_pull`.
    :param above: way into the upper stop at the start of the step, below: into the lower one.
    """
    pull, pull_slope = motor_pull(v, p, ps, limit, rate_limit)
    _, upper, upper_slope = stop_push(v, v0, h, above, k, d, depth)
    _, lower, lower_slope = stop_push(-v, -v0, h, below, k, d, depth)
    return a - s * v + pull - upper + lower, s + pull_slope + upper_slope + lower_slope


@compiled
def friction_level(v, coulomb, stiction, stribeck):
    """Dry friction at a rate: coulomb, and stiction beyond it at rest (Stribeck) [N m, N]."""
    if stiction == 0.0:
        return coulomb
    ratio = v / stribeck
    return coulomb + stiction * exp(-ratio * ratio)


@compiled
def smoothed_friction(v, coulomb, stiction, stribeck, width):
    """Drag of dry friction, smoothed over a rate `width`, and its slope with the rate."""
    turned, level = tanh(v / width), friction_level(v, coulomb, stiction, stribeck)
    return level * turned, level * (1.0 - turned * turned) / width


@compiled
def settle(w, r, stiff, c, v, v0, h, a, s, p, ps, limit, rate_limit, above, below, k, d, depth):
    """
    Force f + g v that stands for all laws near the rate that they allow (T33).

    The rest of the arm answers along this coordinate like r v = w + force. Where the laws have a
    corner, the piece of them on which this is solved is the one that the step ends on.

    :param stiff: inertia over half the step, which what sticks outweighs by far.
    :param c: dry friction [N m, N]; the other arguments are those of `smooth_force`.
    :returns: f and g <= 0.
    """
    side = 0.0
    if c > 0.0:
        # friction has corners where the middle or the end of the step comes to rest
        low, high = min(0.0, 0.5 * v0), max(0.0, 0.5 * v0)
        force, slope = smooth_force(low, v0, h, a, s, p, ps, limit, rate_limit, above, below,
                                    k, d, depth)
        lack = w - r * low + force
        if lack < -c:
            side = -1.0
        elif lack <= 0.0 or (low == high and lack <= c):
            grip = STUCK * stiff
            return force + (slope + grip) * low, -slope - grip
        else:
            force, slope = smooth_force(high, v0, h, a, s, p, ps, limit, rate_limit, above, below,
                                        k, d, depth)
            lack = w - r * high + force
            if lack > c:
                side = 1.0
            elif lack >= 0.0:
                grip = STUCK * stiff
                return force + (slope + grip) * high, -slope - grip
    # r v - force(v) rises, so that its root lies between any two rates that enclose it
    low, high, known_low, known_high = v, v, False, False
    for _ in range(TRIES):
        force, slope = smooth_force(v, v0, h, a, s, p, ps, limit, rate_limit, above, below,
                                    k, d, depth)
        lack = w - c * side + force - r * v
        move = lack / (r + slope)
        if abs(move) <= 1e-12 * (abs(v) + abs(move)) or lack == 0.0:
            break
        if lack > 0.0:
            low, known_low = v, True
        else:
            high, known_high = v, True
        v += move
        if known_low and known_high:
            if not low < v < high:
                v = 0.5 * (low + high)
            if high - low <= 1e-13 * (abs(low) + abs(high)):
                break
    return force - c * side + slope * v, -slope
