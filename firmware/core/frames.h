/* Frames as bytes: 00 | COBS(header, fields, CRC-32) | 00; see docs/rig_protocol.md. */
#ifndef FLEX_FRAMES_H
#define FLEX_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol_layout.h"

enum { FRAME_ON_WIRE_LONGEST = STUFFED_LONGEST + 2 };

struct frame {
    struct header header;
    const void *fields;             /* as long as the id says */
};

struct frame_reader {
    uint32_t frames;                /* taken */
    uint32_t crc_errors;            /* chunks between zeros that were no frame */
    uint32_t length_errors;         /* right CRC, wrong length: another version */
    uint32_t unknown_ids;           /* right CRC, but nothing that a host sends */
    size_t size;                    /* of the chunk under way; beyond STUFFED_LONGEST: too long */
    uint8_t chunk[STUFFED_LONGEST];
};

/* Take one byte; true when it completes a frame, which lasts until the next call. */
bool frame_reader_take(struct frame_reader *reader, uint8_t byte, struct frame *frame);

/* Write a frame to `out`, FRAME_ON_WIRE_LONGEST bytes; returns its size. */
size_t frame_write(uint8_t *out, struct header header, const void *fields);

/* Size of the fields of a frame, or -1 if there is no such id. */
int frame_fields_size(uint8_t id);

#endif
