/* What happened, in order, until the host has acknowledged it. */
#ifndef FLEX_EVENTS_H
#define FLEX_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol_layout.h"

struct events {
    struct event_frame waiting[EVENT_CAPACITY];
    unsigned first, count;
    uint16_t number;            /* of the next event */
    uint32_t lost;              /* for which there was no room */
    bool sent;                  /* the first one, at least once */
    uint32_t sent_at;           /* last [us] */
};

/* Remember an event; its number is filled in. */
void events_add(struct events *events, struct event_frame event);

/* The event to send now, or NULL. */
const struct event_frame *events_due(const struct events *events, uint32_t now);

void events_sent(struct events *events, uint32_t now);
void events_acknowledge(struct events *events, uint16_t number);

#endif
