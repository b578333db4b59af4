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
    if (closed && !homing->closed) {
        homing->closed_since = now;
    }
    homing->closed = closed;
    homing->leaving = closed && now - homing->closed_since >= HOMING_SETTLING;
    return now - homing->since > (uint32_t)timeout_ms * 1000 ? HOMING_TOO_LONG : HOMING_GOES_ON;
}

int homing_direction(const struct homing *homing)
{
    if (homing->leaving) {
        return 1;
    }
    return homing->closed ? 0 : -1;
}
