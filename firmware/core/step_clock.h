/* When the next control step is due; lateness is counted, and lost steps are not caught up. */
#ifndef FLEX_STEP_CLOCK_H
#define FLEX_STEP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol_layout.h"

enum { STEP_US = 1000000 / CONTROL_RATE_HZ };

struct step_clock {
    uint32_t due;               /* start of the next step   [us] */
    uint32_t started;           /* start of the last one    [us] */
    uint32_t lateness;          /* of the last one          [us] */
    uint32_t late_steps;        /* that started more than 1 ms late */
    uint32_t longest;           /* step                     [us] */
    uint64_t uptime;            /* since boot               [us] */
};

void step_clock_start(struct step_clock *clock, uint32_t now);

/* True when a step begins now. */
bool step_clock_begins(struct step_clock *clock, uint32_t now);

void step_clock_ends(struct step_clock *clock, uint32_t now);

#endif
