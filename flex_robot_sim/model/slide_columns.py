"""Columns of the data of a sliding link, `ArmArrays.slide_data`."""

OFFSET, LENGTH, MASS_PER_LENGTH, INERTIA, TIME = 0, 1, 2, 3, 6
# INERTIA: three columns, of the sections about x, y, z per length
SLIDE_COLUMNS = 7
