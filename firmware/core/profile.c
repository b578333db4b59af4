#include "core/profile.h"

#include <stddef.h>

#include "core/crc32.h"
#include "core/memory.h"

void profile_drop(struct profile *profile)
{
    profile->held = profile->total = 0;
}

bool profile_is_complete(const struct profile *profile)
{
    return profile->total != 0 && profile->held == profile->total;
}

uint16_t profile_chunk_size(const struct profile_load_frame *chunk)
{
    uint16_t left = (uint16_t)(chunk->total - chunk->first);
    return left < SEGMENTS_PER_CHUNK ? left : SEGMENTS_PER_CHUNK;
}

bool profile_load(struct profile *profile, const struct profile_load_frame *chunk)
{
    if (chunk->first == 0) {
        profile->held = 0;
        profile->total = chunk->total;
        profile->crc = chunk->crc;
    }
    if (chunk->first != profile->held || chunk->total != profile->total
            || chunk->crc != profile->crc) {
        profile_drop(profile);
        return false;
    }
    uint16_t size = profile_chunk_size(chunk);
    memcpy(profile->segments + profile->held, chunk->segments, size * sizeof(struct segment));
    profile->held = (uint16_t)(profile->held + size);
    if (profile_is_complete(profile) && profile->crc != crc32_add(
            0, profile->segments, profile->total * sizeof(struct segment))) {
        profile_drop(profile);
        return false;
    }
    return true;
}

void profile_start(struct profile *profile)
{
    profile->playing = 0;
    profile->elapsed = 0;
    profile->segment_end = profile->segments[0].duration;
}

const struct segment *profile_advance(struct profile *profile, uint32_t duration)
{
    profile->elapsed += duration;
    while (profile->elapsed >= profile->segment_end) {
        if (profile->playing + 1 >= profile->total) {
            return NULL;
        }
        profile->playing++;
        profile->segment_end += profile->segments[profile->playing].duration;
    }
    return profile->segments + profile->playing;
}
