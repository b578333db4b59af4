/* The motors where there are none: what they are given, and the pulses that this makes. */
#ifndef FLEX_PLAYED_MOTORS_H
#define FLEX_PLAYED_MOTORS_H

#include <stdbool.h>

#include "hal/emulation/step_count.h"

struct played_motors {
    bool bridge, stepper;   /* enabled */
    int32_t duty, rate;     /* as in hal_set_bridge and hal_set_stepper */
    struct step_count steps;
};

static inline void play_bridge(struct played_motors *motors, bool enabled, int32_t duty)
{
    motors->bridge = enabled;
    motors->duty = duty;
}

static inline void play_stepper(struct played_motors *motors, bool enabled, int32_t rate)
{
    motors->stepper = enabled;
    motors->rate = rate;
    step_count_set_rate(&motors->steps, enabled ? rate : 0);
}

#endif
