#include "core/limits.h"

enum { SLIDE_SWITCHES = INPUT_SLIDE_LOWER | INPUT_SLIDE_UPPER,
       TURN_SWITCHES = INPUT_TURN_LOWER | INPUT_TURN_UPPER };

uint16_t limits_faults(uint8_t closing)
{
    return (uint16_t)((closing & SLIDE_SWITCHES ? FAULT_LIMIT_SLIDE : 0)
                      | (closing & TURN_SWITCHES ? FAULT_LIMIT_TURN : 0));
}

bool limits_switch_forbids(uint8_t closed, int joint, int32_t motion)
{
    return motion != 0 && closed & limit_switch(joint, motion > 0);
}

bool limits_soft_forbids(const struct encoder *encoder, int joint, int32_t motion,
                         const struct parameters *parameters)
{
    /* the lower and the upper limit of a joint are adjacent */
    const int32_t *limit = parameters->value + PARAMETER_SLIDE_SOFT_LOWER + 2 * joint;
    return encoder->homed && ((motion < 0 && encoder->counts <= limit[0])
                              || (motion > 0 && encoder->counts >= limit[1]));
}
