/* A 16-bit hardware counter as a 32-bit count with a sign and an origin. */
#ifndef FLEX_ENCODER_H
#define FLEX_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

struct encoder {
    uint16_t raw;               /* of the hardware, in the step before */
    int32_t change;             /* in this step     [counts] */
    int32_t counts;             /* since its origin [counts] */
    bool homed;                 /* the origin has a meaning */
};

void encoder_start(struct encoder *encoder, uint16_t raw);

/* Take the counter; within a step it moves by less than half its range. */
void encoder_update(struct encoder *encoder, uint16_t raw, bool reversed);

/* The joint stands where the count is `counts`. */
void encoder_set_origin(struct encoder *encoder, int32_t counts);

#endif
