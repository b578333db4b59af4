/* Simulated hardware for tests: everything is in memory, and the test advances the time. */
#ifndef FLEX_TEST_BENCH_H
#define FLEX_TEST_BENCH_H

#include <string.h>

#include "core/board.h"
#include "hal/emulation/played_motors.h"
#include "test/check.h"

static struct {
    uint32_t time;
    struct hal_sensors sensors;
    struct played_motors motors;
    uint8_t to_board[8192], to_host[65536];
    size_t to_board_size, taken, to_host_size, room;
    uint32_t fed;
} bench;

static struct board board;
static uint16_t sequence;

void hal_start(struct hal_identity *identity)
{
    *identity = (struct hal_identity){.boot_id = 254, .healthy = true};
}

void hal_poll(void) {}
uint32_t hal_time_us(void) { return bench.time; }
void hal_feed_watchdog(void) { bench.fed = bench.time; }
void hal_read_sensors(struct hal_sensors *sensors) { *sensors = bench.sensors; }
int32_t hal_steps_sent(void) { return (int32_t)bench.motors.steps.count; }
size_t hal_serial_room(void) { return bench.room; }
void hal_serial_errors(struct hal_serial_errors *errors) { *errors = (struct hal_serial_errors){0}; }

void hal_set_bridge(bool enabled, int32_t duty) { play_bridge(&bench.motors, enabled, duty); }
void hal_set_stepper(bool enabled, int32_t rate) { play_stepper(&bench.motors, enabled, rate); }

void hal_outputs_off(void)
{
    hal_set_bridge(false, 0);
    hal_set_stepper(false, 0);
}

size_t hal_serial_read(uint8_t *bytes, size_t size)
{
    size_t left = bench.to_board_size - bench.taken;
    size = size < left ? size : left;
    memcpy(bytes, bench.to_board + bench.taken, size);
    bench.taken += size;
    return size;
}

void hal_serial_write(const uint8_t *bytes, size_t size)
{
    if (bench.to_host_size + size > sizeof bench.to_host) {
        bench.to_host_size = 0;         /* no test reads bytes this old */
    }
    memcpy(bench.to_host + bench.to_host_size, bytes, size);
    bench.to_host_size += size;
}

/* Power up with a sound bench. */
static inline void power_up(uint32_t time)
{
    struct hal_identity identity;
    memset(&bench, 0, sizeof bench);
    bench.time = time;
    bench.room = SIZE_MAX;
    bench.sensors.flex[0] = bench.sensors.flex[1] = 32000;
    hal_start(&identity);
    board_start(&board, &identity);
}

static inline void send(uint8_t id, uint8_t session, uint16_t number, const void *fields)
{
    if (bench.taken == bench.to_board_size) {
        bench.taken = bench.to_board_size = 0;
    }
    bench.to_board_size += frame_write(bench.to_board + bench.to_board_size,
                                       (struct header){id, session, number}, fields);
}

static inline void send_bytes(const uint8_t *bytes, size_t size)
{
    if (bench.taken == bench.to_board_size) {
        bench.taken = bench.to_board_size = 0;
    }
    memcpy(bench.to_board + bench.to_board_size, bytes, size);
    bench.to_board_size += size;
}

/* One millisecond. */
static inline void step(void)
{
    step_count_advance(&bench.motors.steps, STEP_US);
    bench.time += STEP_US;
    board_receive(&board);
    board_step(&board, bench.time);
}

static inline void hello(uint32_t nonce)
{
    struct hello_frame frame = {.major = PROTOCOL_MAJOR, .schema_crc = SCHEMA_CRC, .nonce = nonce};
    send(FRAME_HELLO, 0, 0, &frame);
    step();
}

static inline void command(uint8_t id, const void *fields)
{
    send(id, board.outbox.session, ++sequence, fields);
    step();
}

static inline void setpoint(uint8_t mode, int16_t duty, int32_t step_rate, uint16_t validity)
{
    struct setpoint_frame frame = {mode, duty, step_rate, validity};
    send(FRAME_SETPOINT, board.outbox.session, ++sequence, &frame);
    step();
}

static inline void power_up_and_arm(void)
{
    power_up(0);
    hello(1);
    command(FRAME_ARM, NULL);
    CHECK_EQUAL(board.state, STATE_ARMED);
}

#endif
