/*
 * The board as docs/rig_protocol.md describes it: all its state, and what changes it.
 *
 * Every millisecond board_step goes through the six points of "A control step" there.
 */
#ifndef FLEX_BOARD_STATE_H
#define FLEX_BOARD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/encoder.h"
#include "core/events.h"
#include "core/homing.h"
#include "core/inbox.h"
#include "core/monitor.h"
#include "core/outbox.h"
#include "core/parameters.h"
#include "core/profile.h"
#include "core/step_clock.h"
#include "hal/hal.h"
#include "protocol_layout.h"

#define FIRMWARE_VERSION (0u << 16 | 1u << 8 | 0u)

struct session {
    uint32_t nonce;             /* of the HELLO that began it; the number is in the outbox */
    bool read_only;
    bool has_command;           /* the following are of the last command */
    uint8_t command, result;
    uint16_t command_sequence;
    int32_t value;
    bool has_setpoint;
};

struct setpoint {
    bool drives;                /* false: the arm stands */
    int32_t duty;               /* [1/DUTY_ONE] */
    int32_t step_rate;          /* [1e-3 steps/s] */
    uint32_t taken;             /* when, ARM counts [us] */
    uint32_t validity;          /* [us] */
    uint16_t sequence;          /* of the last one taken */
    uint32_t refused;
    uint8_t last_refusal;
};

struct outputs {
    int32_t duty, step_rate;
};

struct stream {
    unsigned every, wait;       /* control steps between frames, 0: none; and until the next */
    bool health;                /* there has been a HELLO */
    uint32_t health_due;        /* [us] */
};

struct board {
    struct hal_identity identity;
    uint8_t state;              /* enum state */
    uint16_t faults;            /* latched, enum fault */
    struct parameters parameters;
    struct step_clock clock;
    struct encoder encoder[2];
    struct observation seen;
    uint8_t switches, closing;  /* enum input: closed now; closed now and open before */
    struct monitor monitor;
    struct session session;
    struct setpoint setpoint;
    struct homing homing;
    struct profile profile;
    uint32_t profile_time;      /* time up to which it was played [us] */
    struct outputs outputs;
    struct events events;
    struct stream stream;
    struct inbox inbox;
    struct outbox outbox;
};

/* End of the self test, which is part of what `identity` says. */
void board_start(struct board *board, const struct hal_identity *identity);

/* Take bytes from the port; between control steps, so that TIME is answered without waiting. */
void board_receive(struct board *board);

void board_step(struct board *board, uint32_t now);

/* state.c: everything that changes the state */
bool board_is_moving(const struct board *board);
void board_enter(struct board *board, enum state state);
void board_latch(struct board *board, uint16_t faults);
void board_clear(struct board *board, uint16_t faults);
void board_remember(struct board *board, enum event_kind kind, int32_t detail);
void board_lose_homing(struct board *board, int joint);
void board_finish_homing(struct board *board);
void board_finish_profile(struct board *board);

/* handshake.c */
void board_hello(struct board *board, const struct hello_frame *hello);

/* commands.c */
void board_command(struct board *board, struct header header, const void *fields);
void board_setpoint(struct board *board, struct header header, const struct setpoint_frame *frame);

/* motion.c */
void board_move(struct board *board, uint32_t duration);

/* report.c */
uint8_t board_inputs(const struct board *board);
void board_report(struct board *board);

#endif
