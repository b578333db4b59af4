/* The step rate follows its target with a bounded acceleration. */
#ifndef FLEX_STEP_RAMP_H
#define FLEX_STEP_RAMP_H

#include <stdint.h>

/*
 * Rate after `duration` [us], rates in 1e-3 steps/s, acceleration in steps/s2.
 *
 * The part of a unit by which the ramp may not change is lost: below 1e-3 steps/s in a step.
 */
int32_t step_ramp(int32_t rate, int32_t target, int32_t acceleration, uint32_t duration);

#endif
