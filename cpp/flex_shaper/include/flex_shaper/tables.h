/* Tables of a shaper, as `flexsim shape --code c` writes them; C99 and C++17.
 * Generated headers contain the same lines, so either may be included first. */
#pragma once

#include <stdint.h>

#ifndef FLEX_SHAPER_TABLES
#define FLEX_SHAPER_TABLES

enum flex_shaper_code {
    FLEX_SHAPER_OK = 0, /* the set point is shaped */
    FLEX_SHAPER_NOT_RESET = 1, /* no reset yet: the output is not valid */
    FLEX_SHAPER_NOT_FINITE = 2, /* a set point is not finite: the last good one is held */
    FLEX_SHAPER_JUMP = 3, /* a set point jumps: the last good one is held */
    FLEX_SHAPER_WRONG_PERIOD = 4, /* the cycle time is not that of the tables */
    FLEX_SHAPER_WRONG_ROBOT = 5, /* the tables are of another robot */
    FLEX_SHAPER_WRONG_JOINTS = 6, /* the joints, or their order, are not those of the tables */
    FLEX_SHAPER_IN_MOTION = 7, /* the reset was refused: the joints still move */
    FLEX_SHAPER_CHANGING = 8 /* the change was refused: another one is not complete */
};

/* Constants of a shaper. In tables of two dimensions the last one runs fastest. */
struct flex_shaper_tables {
    const char *shaper; /* name of the design */
    const char *robot;
    const char *const *joint_names;
    int32_t joints; /* of a set point */
    int32_t samples; /* of the ring buffers of delays */
    int32_t taps; /* of the FIR filter */
    int32_t stages; /* with delays that follow the pose */
    int32_t impulses; /* of a stage */
    int32_t axes; /* of the table of poses */
    int32_t rows; /* of this table */
    int32_t limiter_samples; /* of the memory of the velocity limiter; 0: no velocity limits */
    double period; /* of the set points [s] */
    double duration; /* that shaping adds, at most [s] */
    const double *max_change; /* of a set point; beyond it is a jump [rad, m] */
    const int32_t *delay; /* of the FIR coefficients [samples] */
    const double *weight; /* FIR coefficients */
    const double *cycles; /* delays of the impulses [cycles] */
    const double *amplitude; /* 0: no impulse */
    const int32_t *axis_joint; /* joint of each axis of poses */
    const double *axis_origin; /* first position [rad, m] */
    const double *axis_unit; /* from one position to the next [rad, m] */
    const int32_t *axis_size; /* number of positions */
    const int32_t *axis_stride; /* rows from one position to the next */
    const double *frequency; /* of the mode of each stage [Hz] */
    const double *max_travel; /* in a sample, by the velocity limit [rad, m] */
    double catch_up; /* share of the delay regained in a sample */
};

#endif
