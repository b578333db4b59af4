/* Looking for the lower switch of a joint. */
#ifndef FLEX_HOMING_H
#define FLEX_HOMING_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol_layout.h"

/* A switch that opens sooner after closing has bounced [us]. */
#define HOMING_SETTLING 20000U

struct homing {
    uint8_t joint;              /* enum joint */
    bool closed;                /* the switch, in the last step */
    bool leaving;               /* it has stayed closed, now moving off it */
    uint32_t since;             /* [us] */
    uint32_t closed_since;      /* [us] */
};

enum homing_result { HOMING_GOES_ON, HOMING_FOUND, HOMING_TOO_LONG };

void homing_start(struct homing *homing, uint8_t joint, uint32_t now);

/* Look at the lower switch of the joint. */
enum homing_result homing_advance(struct homing *homing, bool closed, uint32_t now,
                                  int32_t timeout_ms);

/* -1: towards the lower switch, 0: waiting for it to settle, +1: away from it. */
int homing_direction(const struct homing *homing);

#endif
