/* The parameters of the board: 32-bit integers with a range, lost at reset. */
#ifndef FLEX_PARAMETERS_H
#define FLEX_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol_layout.h"

struct parameters {
    int32_t value[PARAMETER_COUNT];     /* by enum parameter */
};

void parameters_start(struct parameters *parameters);

/* False, and nothing changes, where the parameter is unknown or the value out of its range. */
bool parameters_write(struct parameters *parameters, uint8_t which, int32_t value);

#endif
