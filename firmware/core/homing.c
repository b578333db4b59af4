#include "core/homing.h"

void homing_start(struct homing *homing, uint8_t joint, uint32_t now)
{
    *homing = (struct homing){.joint = joint, .since = now};
}

enum homing_result homing_advance(struct homing *homing, bool closed, uint32_t now,
                                  int32_t timeout_ms)
{
    if (homing->leaving && !closed) {
        return HOMING_FOUND;
    }
    homing->leaving = closed;
    return now - homing->since > (uint32_t)timeout_ms * 1000 ? HOMING_TOO_LONG : HOMING_GOES_ON;
}

int homing_direction(const struct homing *homing)
{
    return homing->leaving ? 1 : -1;
}
