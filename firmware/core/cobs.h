/* Consistent overhead byte stuffing (Cheshire and Baker, 1999): bytes without a zero. */
#ifndef FLEX_COBS_H
#define FLEX_COBS_H

#include <stddef.h>
#include <stdint.h>

enum { COBS_LONGEST = 254 };        /* bytes without a zero that one code byte announces */
#define COBS_STUFFED(size) ((size) + (size) / COBS_LONGEST + 1)

/* Write `bytes` without zeros to `out`, which has room for COBS_STUFFED(size); returns the size. */
size_t cobs_stuff(uint8_t *out, const uint8_t *bytes, size_t size);

/* Undo it, in place; returns the size, or -1 if no stuffing can have made these bytes. */
long cobs_unstuff(uint8_t *bytes, size_t size);

#endif
