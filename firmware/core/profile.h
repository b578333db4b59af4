/* Bang-bang inputs that the board plays by itself, loaded in chunks. */
#ifndef FLEX_PROFILE_H
#define FLEX_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol_layout.h"

struct profile {
    struct segment segments[PROFILE_CAPACITY];
    uint16_t held, total;       /* segments; complete when equal and not 0 */
    uint32_t crc;               /* over the bytes of all segments */

    uint16_t playing;           /* segment that applies */
    uint64_t elapsed;           /* since the start [us]; may outlast the 32-bit clock */
    uint64_t segment_end;       /* since the start [us] */
};

void profile_drop(struct profile *profile);
bool profile_is_complete(const struct profile *profile);

/* Take a chunk whose values are in range; false, and all is dropped, where it does not fit. */
bool profile_load(struct profile *profile, const struct profile_load_frame *chunk);

/* Segments that a chunk carries. */
uint16_t profile_chunk_size(const struct profile_load_frame *chunk);

void profile_start(struct profile *profile);

/* Let time [us] go on; the segment that applies now, or NULL after the last. */
const struct segment *profile_advance(struct profile *profile, uint32_t duration);

#endif
