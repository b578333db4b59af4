/*
 * The mailbox: a piece of RAM through which the host plays the world around the processor.
 *
 * rig/qemu.py fills it over QEMU's qtest socket; the address is the ELF symbol `mailbox`. In real
 * time it goes on to write world and bytes and to read the outputs there, while bytes to the host
 * leave by a pipe. In lockstep two pipes carry everything: a request is a world and the bytes from
 * the host, an answer the outputs and the bytes to the host. The layout in Python is checked
 * against this one by a test.
 */
#ifndef FLEX_MAILBOX_H
#define FLEX_MAILBOX_H

#include <stdint.h>

#define MAILBOX_START 0x5354524Du       /* "MRTS": the host has filled in what follows */

enum { MAILBOX_TO_HOST = 2048, MAILBOX_FROM_HOST = 4096, MAILBOX_PATH = 24 };

enum mailbox_mode {
    MAILBOX_REAL_TIME = 0,      /* time comes from the processor's timer */
    MAILBOX_LOCKSTEP = 1,       /* time stands still between requests */
};

enum mailbox_fault {
    MAILBOX_REBOOT = 1 << 0,    /* a reset for the reason in `reset_cause` */
    MAILBOX_HANG = 1 << 1,      /* until the watchdog resets the processor */
    MAILBOX_CRASH = 1 << 2,     /* an invalid instruction */
    MAILBOX_OVERFLOW = 1 << 3,  /* a stack that grows out of the memory */
};

struct mailbox_world {
    uint32_t time;              /* board clock in this step; in real time: at boot [us] */
    uint32_t received;          /* bytes from the host in `from_host`: before this step; in real time
                                   since power-up, and `from_host` is a ring */
    uint32_t faults;            /* enum mailbox_fault, taken with a request or, in real time, at once */
    uint32_t reset_cause;       /* enum reset_cause of a reboot */
    uint32_t boot_id;           /* of the next boot */
    int32_t encoder[2];         /* counts since power-up */
    uint32_t flex[2];           /* sums of ADC_CONVERSIONS conversions */
    int32_t current;            /* of the DC motor [mA] */
    uint32_t inputs;            /* enum input: switches and button */
};

struct mailbox_out {
    uint32_t sent;              /* bytes to the host in this step, in `to_host` */
    uint32_t boots;             /* times that the processor has started */
    uint32_t reset_cause;       /* enum reset_cause that the next boot shall report, 0: a crash */
    uint32_t enabled;           /* bit 0: bridge, bit 1: stepper */
    int32_t duty;               /* of the bridge, see DUTY_ONE */
    int32_t step_rate;          /* [1e-3 steps/s] */
    int32_t steps;              /* sent since boot */
};

struct mailbox {
    uint32_t start;             /* MAILBOX_START, written last */
    uint32_t mode;              /* enum mailbox_mode, read at boot */
    char requests[MAILBOX_PATH], answers[MAILBOX_PATH];     /* paths of the pipes; end with a 0 */
    struct mailbox_world world;
    struct mailbox_out out;
    uint8_t to_host[MAILBOX_TO_HOST];
    uint8_t from_host[MAILBOX_FROM_HOST];
};

#endif
