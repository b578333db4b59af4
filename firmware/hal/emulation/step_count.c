#include "hal/emulation/step_count.h"

#define WHOLE_STEP 1000000000u

void step_count_set_rate(struct step_count *steps, int32_t rate)
{
    if ((rate ^ steps->rate) < 0) {
        steps->phase = 0;           /* as the pulse timer does on a change of direction */
    }
    steps->rate = rate;
}

void step_count_advance(struct step_count *steps, uint32_t duration)
{
    uint32_t magnitude = steps->rate < 0 ? -(uint32_t)steps->rate : (uint32_t)steps->rate;
    steps->phase += (uint64_t)magnitude * duration;
    uint32_t whole = (uint32_t)(steps->phase / WHOLE_STEP);
    steps->phase %= WHOLE_STEP;
    steps->count += steps->rate < 0 ? -whole : whole;
}
