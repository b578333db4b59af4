#include "core/parameters.h"

static const struct { int32_t initial, least, most; } RANGES[] = {
#define RANGE(name, number, initial, least, most) [number] = {initial, least, most},
    PARAMETERS(RANGE)
};
_Static_assert(sizeof RANGES / sizeof RANGES[0] == PARAMETER_COUNT, "one range per parameter");

void parameters_start(struct parameters *parameters)
{
    for (int i = 0; i < PARAMETER_COUNT; i++) {
        parameters->value[i] = RANGES[i].initial;
    }
}

bool parameters_write(struct parameters *parameters, uint8_t which, int32_t value)
{
    if (which >= PARAMETER_COUNT || value < RANGES[which].least || value > RANGES[which].most) {
        return false;
    }
    parameters->value[which] = value;
    return true;
}
