"""
Colour scale of strain: from pale (no bending) over orange to dark red.

Lightness decreases in perceptually uniform steps, so that the scale is readable in grey print and
with red-green colour blindness. Both ends are visible on the dark background of rviz. Colours are
mixed in Oklab, where equal distances look about equal (B. Ottosson, A perceptual color space for
image processing, 2020), and given in sRGB.
"""

import numpy as np

ROD_COLOUR = 0.49, 0.52, 0.56  # of a distance constraint, in sRGB
_ANCHORS = ((0.93, 0.02, 250.0), (0.74, 0.15, 65.0), (0.52, 0.19, 28.0))  # L, chroma, hue [deg]

_TO_LMS = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def colour_ramp(steps: int = 256) -> np.ndarray:
    """Return `steps` colours (steps, 4), red, green, blue and alpha from 0 to 1."""
    lightness, chroma, hue = np.array(_ANCHORS).T
    angle = np.radians(hue)
    anchors = np.column_stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)])
    # steps are distributed by arc length
    arc_length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(anchors, axis=0), axis=1)))
    positions = np.linspace(0.0, arc_length[-1], steps)
    mixed = np.column_stack([np.interp(positions, arc_length, column) for column in anchors.T])
    linear = np.clip((mixed @ _TO_LMS.T) ** 3 @ _TO_RGB.T, 0.0, 1.0)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.column_stack([rgb, np.ones(steps)])
