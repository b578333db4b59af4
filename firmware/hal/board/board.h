/* The parts of the board back end, each started once by hal_start. Pins: docs/rig.md. */
#ifndef FLEX_BOARD_H
#define FLEX_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "hal/board/stm32f407.h"

enum pin_mode { PIN_INPUT, PIN_OUTPUT, PIN_ALTERNATE, PIN_ANALOG };
enum pin_pull { PULL_NONE, PULL_UP };

struct pin {
    struct gpio *port;
    uint8_t number, mode, pull, alternate;
};

/* Run at 168 MHz; false: from the internal oscillator, because the crystal does not start. */
bool clock_start(void);
void pins_start(const struct pin *pins, unsigned count);
void motors_start(void);
/* False: the converter does not convert. */
bool sensors_start(void);

void serial_start(void);

/* Wait for bits of a register; false if they do not come in time. */
bool wait_for(volatile uint32_t *status, uint32_t mask, uint32_t value);

/* Set or clear a pin in one store, which no interrupt can tear apart. */
static inline void pin_write(struct gpio *port, unsigned number, bool high)
{
    port->set_reset = 1u << (high ? number : number + 16);
}

#endif
