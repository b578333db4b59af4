/* Frames that have arrived and wait for the control step that handles them. */
#ifndef FLEX_INBOX_H
#define FLEX_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frames.h"

enum { INBOX_CAPACITY = 16, FIELDS_LONGEST = BODY_LONGEST - BODY_SHORTEST };

struct received_frame {
    struct header header;
    uint8_t fields[FIELDS_LONGEST];
};

struct inbox {
    struct frame_reader reader;
    struct received_frame waiting[INBOX_CAPACITY];
    unsigned first, count;
};

static inline bool inbox_is_full(const struct inbox *inbox)
{
    return inbox->count == INBOX_CAPACITY;
}

/* Take one byte, while it is not full; a frame that it completes, to be kept or not. */
bool inbox_take(struct inbox *inbox, uint8_t byte, struct received_frame *frame);

/* Let a frame wait. */
void inbox_keep(struct inbox *inbox, const struct received_frame *frame);

/* The oldest frame, or false. */
bool inbox_next(struct inbox *inbox, struct received_frame *frame);

#endif
