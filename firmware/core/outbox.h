/* Frames to the host: numbered, and dropped whole where the port has no room. */
#ifndef FLEX_OUTBOX_H
#define FLEX_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

enum urgency {
    REGULAR,                    /* leaves room for an answer */
    ANSWER,
};

struct outbox {
    uint8_t session;            /* in the header of every frame */
    uint16_t sequence;          /* of the next frame */
    uint32_t dropped;
};

bool outbox_send(struct outbox *outbox, uint8_t id, const void *fields, enum urgency urgency);

#endif
