/*
 * The hardware as QEMU's netduinoplus2 and the mailbox give it.
 *
 * Real are the processor and the timer that gives the time; QEMU has no pins, converter, encoder
 * counters, PWM, DMA or watchdog, so these pass through the mailbox. So do serial bytes, laid into
 * memory as the board's DMA does it, and those that are sent through a pipe, a frame at a time:
 * QEMU's port would handle each byte by itself, with as many changes of process. In lockstep
 * a request brings a time, what the pins are given and what the serial line has brought; it is
 * answered when the main loop comes round again, and until the next one the processor stands still:
 * nothing depends on how fast QEMU runs.
 */
#include "core/memory.h"
#include "hal/cortex_m4.h"
#include "hal/emulation/host_files.h"
#include "hal/emulation/mailbox.h"
#include "hal/emulation/played_motors.h"
#include "hal/hal.h"
#include "hal/handlers.h"
#include "hal/memory_test.h"

#define TIMER_CONTROL REGISTER(0x40000C00)          /* TIM5 */
#define TIMER_EVENT REGISTER(0x40000C14)
#define TIMER_COUNT REGISTER(0x40000C24)
#define TIMER_PRESCALER REGISTER(0x40000C28)
#define TIMER_RELOAD REGISTER(0x40000C2C)

enum {
    QEMU_TIMER_MHZ = 1000,                          /* what QEMU clocks its timers with */
    RECEIVE_SIZE = 4096,                            /* a power of two */
};

extern volatile struct mailbox mailbox;

static uint8_t received[RECEIVE_SIZE];
static uint32_t received_count;                     /* taken from the mailbox */
static uint32_t taken_count;                        /* given to the firmware */
static uint32_t overrun_count;
static struct played_motors motors;
static uint32_t lockstep_time, fed_time, timer_offset;
static int32_t requests, answers;                   /* pipes */
static uint32_t seen_count;                         /* bytes in the mailbox, in real time */
static bool lockstep;

static void keep_received(uint8_t byte)
{
    if (received_count - taken_count < RECEIVE_SIZE) {
        received[received_count % RECEIVE_SIZE] = byte;
        received_count++;
    } else {
        overrun_count++;
    }
}

/* Only wakes the processor, which sleeps while there is nothing to do. */
void systick_handler(void)
{
}

static void start_timer(void)
{
    TIMER_PRESCALER = QEMU_TIMER_MHZ - 1;
    TIMER_RELOAD = 0xFFFFFFFF;
    TIMER_EVENT = 1;
    TIMER_CONTROL = 1;
}

static void start_ticks(void)
{
    SYSTICK_RELOAD = 168000 / 4 - 1;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = SYSTICK_ON | SYSTICK_INTERRUPT | SYSTICK_CORE_CLOCK;
}

static void open_pipes(void)
{
    requests = lockstep ? host_file_open(mailbox.requests, false) : 0;
    answers = host_file_open(mailbox.answers, true);
    if (requests < 0 || answers < 0) {
        crash_handler();
    }
}

void hal_start(struct hal_identity *identity)
{
    start_ticks();
    while (mailbox.start != MAILBOX_START) {
        wait_for_interrupt();
    }
    start_timer();
    lockstep = mailbox.mode == MAILBOX_LOCKSTEP;
    lockstep_time = mailbox.world.time;
    timer_offset = mailbox.world.time - TIMER_COUNT;
    fed_time = hal_time_us();

    memcpy(identity->uid, "EMULATEDBENC", sizeof identity->uid);
    identity->boot_id = mailbox.world.boot_id;
    identity->reset = mailbox.out.boots == 0 ? RESET_CAUSE_POWER
                    : mailbox.out.reset_cause ? (enum reset_cause)mailbox.out.reset_cause
                    : RESET_CAUSE_SOFTWARE;
    identity->emulated = true;
    identity->healthy = memory_works;

    hal_outputs_off();
    mailbox.world.faults = 0;
    mailbox.out.reset_cause = 0;
    mailbox.out.sent = 0;
    mailbox.out.steps = 0;
    open_pipes();
    if (lockstep) {
        SYSTICK_CONTROL = 0;
    } else {
        seen_count = mailbox.world.received;
    }
    /* last: the host may send as soon as it reads this */
    memory_barrier();
    mailbox.out.boots++;
}

/* Reset like a real processor after a power-up or by its watchdog. */
static void reset_because(enum reset_cause cause)
{
    hal_outputs_off();
    mailbox.out.reset_cause = cause;
    processor_reset();
}

/* Every call lays a frame on the stack that it needs until the end. */
static void __attribute__((noinline)) grow_stack(uint32_t depth)
{
    volatile uint32_t here[32] = {depth};
    if (here[0] == depth) {
        grow_stack(depth + 1);
    }
    here[0]++;
}

static void obey_faults(void)
{
    uint32_t faults = mailbox.world.faults;
    if (faults & MAILBOX_REBOOT) {
        reset_because((enum reset_cause)mailbox.world.reset_cause);
    }
    if (faults & MAILBOX_CRASH) {
        mailbox.world.faults = 0;
        __asm volatile("udf #0");
    }
    if (faults & MAILBOX_OVERFLOW) {
        mailbox.world.faults = 0;
        grow_stack(0);
    }
    if (faults & MAILBOX_HANG) {
        mailbox.world.faults = 0;
        uint32_t begin = TIMER_COUNT;
        while (TIMER_COUNT - begin < HAL_WATCHDOG_MS * 1000u) {
        }
        reset_because(RESET_CAUSE_INDEPENDENT_WATCHDOG);
    }
}

static void report_outputs(void)
{
    mailbox.out.enabled = (uint32_t)motors.bridge | (uint32_t)motors.stepper << 1;
    mailbox.out.duty = motors.bridge ? motors.duty : 0;
    mailbox.out.step_rate = motors.stepper ? motors.rate : 0;
    mailbox.out.steps = (int32_t)motors.steps.count;
}

static void take_request(void)
{
    host_file_read(requests, &mailbox.world, sizeof mailbox.world);
    host_file_read(requests, mailbox.from_host, mailbox.world.received);
    obey_faults();
    step_count_advance(&motors.steps, mailbox.world.time - lockstep_time);
    lockstep_time = mailbox.world.time;
    if (lockstep_time - fed_time > HAL_WATCHDOG_MS * 1000u) {
        reset_because(RESET_CAUSE_INDEPENDENT_WATCHDOG);
    }
    for (uint32_t i = 0; i < mailbox.world.received; i++) {
        keep_received(mailbox.from_host[i]);
    }
}

/* What follows the outputs in memory follows them in the pipe. */
static void answer(void)
{
    report_outputs();
    host_file_write(answers, &mailbox.out, sizeof mailbox.out + mailbox.out.sent);
    mailbox.out.sent = 0;
}

/* In real time `from_host` is a ring and `received` a counter that wraps. */
static void keep_what_arrived(void)
{
    uint32_t arrived = mailbox.world.received;
    if (arrived - seen_count > MAILBOX_FROM_HOST) {
        overrun_count += arrived - seen_count - MAILBOX_FROM_HOST;
        seen_count = arrived - MAILBOX_FROM_HOST;
    }
    while (seen_count != arrived) {
        keep_received(mailbox.from_host[seen_count++ % MAILBOX_FROM_HOST]);
    }
}

static void follow_timer(void)
{
    static uint32_t last;
    if (mailbox.world.received == seen_count) {
        wait_for_interrupt();
    }
    keep_what_arrived();
    obey_faults();
    uint32_t now = hal_time_us();
    step_count_advance(&motors.steps, now - last);
    last = now;
    report_outputs();
}

void hal_poll(void)
{
    if (lockstep) {
        answer();
        take_request();
    } else {
        follow_timer();
    }
}

uint32_t hal_time_us(void)
{
    return lockstep ? lockstep_time : TIMER_COUNT + timer_offset;
}

void hal_feed_watchdog(void)
{
    fed_time = hal_time_us();
}

void hal_read_sensors(struct hal_sensors *sensors)
{
    for (int axis = 0; axis < HAL_AXES; axis++) {
        sensors->encoder[axis] = (uint16_t)mailbox.world.encoder[axis];
        sensors->flex[axis] = mailbox.world.flex[axis];
    }
    sensors->current = mailbox.world.current;
    sensors->inputs = (uint8_t)mailbox.world.inputs;
}

void hal_set_bridge(bool enabled, int32_t duty)
{
    play_bridge(&motors, enabled, duty);
}

void hal_set_stepper(bool enabled, int32_t rate)
{
    play_stepper(&motors, enabled, rate);
}

int32_t hal_steps_sent(void)
{
    return (int32_t)motors.steps.count;
}

void hal_outputs_off(void)
{
    hal_set_bridge(false, 0);
    hal_set_stepper(false, 0);
    report_outputs();
}

size_t hal_serial_read(uint8_t *bytes, size_t size)
{
    size_t count = 0;
    while (count < size && taken_count != received_count) {
        bytes[count++] = received[taken_count % RECEIVE_SIZE];
        taken_count++;
    }
    return count;
}

size_t hal_serial_room(void)
{
    /* in real time the host accepts any number of bytes */
    return lockstep ? MAILBOX_TO_HOST - mailbox.out.sent : MAILBOX_TO_HOST;
}

void hal_serial_write(const uint8_t *bytes, size_t size)
{
    if (!lockstep) {
        host_file_write(answers, bytes, size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        mailbox.to_host[mailbox.out.sent++] = bytes[i];
    }
}

void hal_serial_errors(struct hal_serial_errors *errors)
{
    errors->framing = 0;
    errors->overrun = overrun_count;
}
