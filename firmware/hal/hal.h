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

enum {
    HAL_AXES = 2,                   /* 0: slide (DC motor, screw), 1: turn (stepper) */
    HAL_CONVERSIONS = 16,           /* of the converter, added up for one reading */
    HAL_ADC_FULL = 4095,            /* one conversion of 12 bits */
    HAL_DUTY_FULL = 10000,          /* duty of the bridge: -HAL_DUTY_FULL..HAL_DUTY_FULL */
    HAL_WATCHDOG_MS = 50,           /* nominal; between 34 and 95 with the spread of the oscillator */
};

/* A set bit: the contact is open, which is pressed, or a wire that has come off. */
enum hal_input {
    HAL_SLIDE_LOWER = 1 << 0,
    HAL_SLIDE_UPPER = 1 << 1,
    HAL_TURN_LOWER = 1 << 2,
    HAL_TURN_UPPER = 1 << 3,
    HAL_STOP_BUTTON = 1 << 4,
};

/* Nothing but a crash resets the processor by software. */
enum hal_reset { HAL_RESET_UNKNOWN, HAL_RESET_POWER, HAL_RESET_PIN, HAL_RESET_SOFTWARE,
                 HAL_RESET_WATCHDOG, HAL_RESET_LOW_VOLTAGE };

struct hal_identity {
    uint32_t uid[3];                /* of this very chip */
    uint32_t boot_id;               /* differs from boot to boot */
    enum hal_reset reset;           /* why the processor started */
    bool emulated;
    bool crystal;                   /* clocked by the crystal; false: the coarser oscillator */
};

struct hal_sensors {
    uint16_t encoder[HAL_AXES];     /* hardware counters, wrapping at 2^16      [counts] */
    uint32_t flex[2];               /* sums of HAL_CONVERSIONS conversions      [counts] */
    int32_t current;                /* of the DC motor                          [mA] */
    uint32_t inputs;                /* enum hal_input, with every edge since the last call */
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

/* Duty of the DC motor's bridge; not enabled: the motor sees no current. */
void hal_set_bridge(bool enabled, int32_t duty);

/* Rate of the step pulses [1e-3 steps/s] and whether the driver holds the rotor. */
void hal_set_stepper(bool enabled, int32_t rate);

/* Step pulses sent since boot, signed, wrapping at 2^32. */
int32_t hal_steps_sent(void);

/* Everything that moves off, from any context. */
void hal_outputs_off(void);

/* Take up to `size` received bytes; returns how many there were. */
size_t hal_serial_read(uint8_t *bytes, size_t size);

/* Queue all bytes for sending, or none: false if there is no room. */
bool hal_serial_write(const uint8_t *bytes, size_t size);

void hal_serial_errors(struct hal_serial_errors *errors);

#endif
