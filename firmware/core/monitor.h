/* Plausibility: what sensors and outputs together say about the health of the bench. */
#ifndef FLEX_MONITOR_H
#define FLEX_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/parameters.h"

enum { COUNTS_PER_TURN = 2400, STEPS_PER_TURN = 3200 };     /* 600 pulses; 200 steps, 1/16 each */
enum { DRAWN_MS = 100 };        /* after ARM, while the field pulls the rotor into position */

struct observation {
    uint32_t now;               /* [us] */
    uint32_t lateness;          /* of this control step [us] */
    bool moving;                /* outputs are on */
    bool stop_button;
    uint32_t flex[2];           /* sums of conversions */
    int32_t current;            /* [mA] */
    int32_t counts[2], change[2];   /* of the encoders, and in this step */
    int32_t steps;              /* pulses sent */
};

/* How long a condition has held without interruption. */
struct spell {
    bool lasts;
    uint32_t since;             /* [us] */
};

struct monitor {
    struct spell rail[2], overcurrent, stall;
    int32_t stall_counts;       /* where the window opened */
    int32_t stall_duty;         /* applied now */
    int32_t turn_counts, steps; /* from where lost steps are counted */
    bool is_drawn;              /* by a field that has been switched on */
    uint32_t drawn_since;       /* [us] */
};

/* Faults that this step shows, enum fault. */
uint16_t monitor_look(struct monitor *monitor, const struct observation *seen,
                      const struct parameters *parameters);

/* Faults whose cause is there now, so that they cannot be cleared. */
uint16_t monitor_persisting(const struct observation *seen, const struct parameters *parameters);

/* Lost steps count from here. */
void monitor_trust_steps(struct monitor *monitor, int32_t turn_counts, int32_t steps);

/* Outputs switch on: count lost steps from here, and again once the field has pulled the rotor. */
void monitor_armed(struct monitor *monitor, const struct observation *seen);

/* Duty that goes to the bridge, 0 while it is off. */
void monitor_applied(struct monitor *monitor, const struct observation *seen, int32_t duty,
                     const struct parameters *parameters);

#endif
