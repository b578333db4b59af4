/* Limit switches and soft limits of the two joints. */
#ifndef FLEX_LIMITS_H
#define FLEX_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/encoder.h"
#include "core/parameters.h"

/* Switch of a joint at its lower (side 0) or upper (side 1) end, enum input. */
static inline uint8_t limit_switch(int joint, int side)
{
    return (uint8_t)(INPUT_SLIDE_LOWER << (2 * joint + side));
}

/* Faults of the switches among `closing`, enum fault. */
uint16_t limits_faults(uint8_t closing);

/* Whether a closed switch forbids motion of a joint in the direction of `motion`. */
bool limits_switch_forbids(uint8_t closed, int joint, int32_t motion);

/* Whether a soft limit forbids it; soft limits apply to homed joints only. */
bool limits_soft_forbids(const struct encoder *encoder, int joint, int32_t motion,
                         const struct parameters *parameters);

#endif
