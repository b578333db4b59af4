#include "core/step_ramp.h"

int32_t step_ramp(int32_t rate, int32_t target, int32_t acceleration, uint32_t duration)
{
    int64_t most = (int64_t)acceleration * duration / 1000;
    int64_t change = (int64_t)target - rate;
    change = change > most ? most : change < -most ? -most : change;
    return (int32_t)(rate + change);
}
