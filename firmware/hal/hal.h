/*
 * What the firmware needs from the hardware, and nothing more.
 *
 * Two back ends: hal/board (STM32F407) and hal/emulation (QEMU). No function blocks. Everything
 * above this header is the same source on both.
 */
#ifndef FLEX_HAL_H
#define FLEX_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol_layout.h"

enum {
    HAL_AXES = 2,                   /* 0: slide (DC motor, screw), 1: turn (stepper) */
    HAL_WATCHDOG_MS = 50,           /* nominal; between 34 and 95 with the spread of the oscillator */
};

struct hal_identity {
    uint32_t uid[3];                /* of this very chip */
    uint32_t boot_id;               /* differs from boot to boot */
    enum reset_cause reset;         /* SOFTWARE: it crashed */
    bool emulated;
    bool healthy;                   /* memory, clock, supply and converter passed their test */
};

struct hal_sensors {
    uint16_t encoder[HAL_AXES];     /* hardware counters, wrapping at 2^16      [counts] */
    uint32_t flex[2];               /* sums of ADC_CONVERSIONS conversions      [counts] */
    int32_t current;                /* of the DC motor                          [mA] */
    /* enum input: switches and button that are pressed, or whose wire is off, or were at some
       moment since the last call */
    uint8_t inputs;
};

struct hal_serial_errors {
    uint32_t framing;               /* framing and noise errors since boot */
    uint32_t overrun;               /* bytes lost on receiving */
};

/* Bring up clock, pins and peripherals with both motors off. */
void hal_start(struct hal_identity *identity);

/* Called once in every turn of the main loop; lets the emulation take its next request. */
void hal_poll(void);

/* Free-running clock that wraps at 2^32 [us]; never counted from ticks. */
uint32_t hal_time_us(void);

/* Restart the countdown that resets the processor when the control loop hangs. */
void hal_feed_watchdog(void);

/* Sample everything. */
void hal_read_sensors(struct hal_sensors *sensors);

/* Duty of the DC motor's bridge [1/DUTY_ONE]; not enabled: the motor has no current. */
void hal_set_bridge(bool enabled, int32_t duty);

/* Rate of the step pulses [1e-3 steps/s] and whether the driver holds the rotor. */
void hal_set_stepper(bool enabled, int32_t rate);

/* Step pulses sent since boot, signed, wrapping at 2^32. */
int32_t hal_steps_sent(void);

/* Switch both motors off, from any context. */
void hal_outputs_off(void);

/* Take up to `size` received bytes; returns how many there were. */
size_t hal_serial_read(uint8_t *bytes, size_t size);

/* Bytes that hal_serial_write takes now. */
size_t hal_serial_room(void);

/* Queue bytes for sending; the caller has asked whether there is room. */
void hal_serial_write(const uint8_t *bytes, size_t size);

void hal_serial_errors(struct hal_serial_errors *errors);

#endif
