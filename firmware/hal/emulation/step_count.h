/* Step pulses as whole numbers out of a rate and time, for a back end without a pulse timer. */
#ifndef FLEX_STEP_COUNT_H
#define FLEX_STEP_COUNT_H

#include <stdint.h>

struct step_count {
    uint32_t count;         /* pulses sent; wraps, and is signed where it is read */
    int32_t rate;           /* [1e-3 steps/s] */
    uint64_t phase;         /* way to the next pulse [1e-9 steps] */
};

void step_count_set_rate(struct step_count *steps, int32_t rate);
void step_count_advance(struct step_count *steps, uint32_t duration);    /* [us] */

#endif
