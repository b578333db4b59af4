"""
Force laws along one coordinate of a joint, or along the twist of its gear: one law per file.

Every force decreases monotonically with the rate, so that it has one solution for any step h. With
the rate v at mid-step and v0 at the start, the end has v1 = 2 v - v0, and the coordinate moves
from q0 to q0 + h v. Stops and dry friction are dissipative by construction, for any step, inertia
and other laws (T31, T32, T35). With h = 0 the laws are those of an instant. All functions take
plain numbers, because a call with an arm costs more than the computation.
"""
