/*
 * The two motors: a bridge with two PWM inputs at 20 kHz, and step pulses of a 32-bit timer.
 *
 * The stop button is also the break input of the PWM timer, so that it cuts the PWM without any
 * software; its interrupt in sensors.c takes the stepper away as well. The timer's own interrupt
 * stays off: its flag follows the level of the input and would come again for as long as the
 * button is pressed.
 */
#include "hal/board/board.h"
#include "hal/hal.h"
#include "hal/handlers.h"

enum {
    PWM_PERIOD = 168000000 / 20000,
    PULSE = 84 * 3,                     /* 3 us, in ticks of the step timer */
    STEP_TIMER_HZ = 84000000,
    FASTEST_RATE = 100000 * 1000,       /* [1e-3 steps/s] */
    BRIDGE_ON = 10,                     /* of port D; high: the bridge is awake */
    STEP_DIRECTION = 12,                /* of port B; high: positive */
    STEP_OFF = 13,                      /* of port B; low: the driver holds the rotor */
    STOP_BUTTON = 15,                   /* of port E; high: pressed */
};

/* outputs are switched to a safe level before their pins are */
static const struct pin PINS[] = {
    {GPIO_D, BRIDGE_ON, PIN_OUTPUT, PULL_NONE, 0},
    {GPIO_B, STEP_OFF, PIN_OUTPUT, PULL_NONE, 0},
    {GPIO_B, STEP_DIRECTION, PIN_OUTPUT, PULL_NONE, 0},
    {GPIO_E, 9, PIN_ALTERNATE, PULL_NONE, 1},       /* TIM1 channel 1: forwards */
    {GPIO_E, 11, PIN_ALTERNATE, PULL_NONE, 1},      /* TIM1 channel 2: backwards */
    {GPIO_E, STOP_BUTTON, PIN_ALTERNATE, PULL_UP, 1},        /* TIM1 break: stop button */
    {GPIO_B, 11, PIN_ALTERNATE, PULL_NONE, 1},      /* TIM2 channel 4: step pulses */
};

static volatile uint32_t steps_sent;
static int32_t step_rate;

static void pwm_start(void)
{
    TIM1->reload = PWM_PERIOD - 1;
    TIM1->mode1 = TIMER_PWM1_CHANNEL_1_2;
    TIM1->outputs = TIMER_OUTPUTS_1_2;
    TIM1->break_dead_time = TIMER_BREAK_ON | TIMER_BREAK_HIGH | TIMER_IDLE_DRIVEN;
    TIM1->event = TIMER_EVENT_UPDATE;
    TIM1->control1 = TIMER_ON | TIMER_PRELOAD;
}

static void step_timer_start(void)
{
    /* a pulse is the end of a period, so that it is counted when it is over */
    TIM2->mode2 = TIMER_PWM2_CHANNEL_4;
    TIM2->outputs = TIMER_OUTPUT_4;
    TIM2->reload = 0xFFFFFFFF;
    TIM2->compare[3] = 0xFFFFFFFF;
    TIM2->control1 = TIMER_OVERFLOW_ONLY;
    TIM2->status = 0;
    TIM2->interrupt = TIMER_INTERRUPT_UPDATE;
    interrupt_enable(IRQ_STEP_PULSE, 1);
}

void motors_start(void)
{
    hal_outputs_off();
    pwm_start();
    step_timer_start();
    pins_start(PINS, sizeof PINS / sizeof PINS[0]);
}

void hal_outputs_off(void)
{
    TIM1->break_dead_time &= ~(uint32_t)TIMER_MAIN_OUTPUT;
    TIM1->compare[0] = TIM1->compare[1] = PWM_PERIOD;      /* the next start begins with a brake */
    pin_write(GPIO_D, BRIDGE_ON, false);
    pin_write(GPIO_B, STEP_OFF, true);
    TIM2->control1 &= ~(uint32_t)TIMER_ON;
    step_rate = 0;
}

void step_pulse_handler(void)
{
    /* the slow bus may bring the clearing too late to end the interrupt: it then comes again, and
       nothing is there to count */
    if (TIM2->status & TIMER_STATUS_UPDATE) {
        TIM2->status = ~(uint32_t)TIMER_STATUS_UPDATE;
        steps_sent += GPIO_B->output & 1u << STEP_DIRECTION ? 1u : -1u;
    }
}

/* An interrupt may have switched off what its interrupted caller then switched on. */
static void off_if_stopped(void)
{
    if (GPIO_E->input & 1u << STOP_BUTTON) {
        hal_outputs_off();
    }
}

void hal_set_bridge(bool enabled, int32_t duty)
{
    /* one input stays high and the other is low for the duty: drive and brake in turn, so that the
       mean voltage is duty times supply whichever way the current flows; both high: brake */
    uint32_t width = (uint32_t)(duty < 0 ? -duty : duty) * PWM_PERIOD / DUTY_ONE;
    TIM1->compare[0] = duty < 0 ? PWM_PERIOD - width : PWM_PERIOD;
    TIM1->compare[1] = duty > 0 ? PWM_PERIOD - width : PWM_PERIOD;
    if (enabled) {
        /* the hardware refuses this while the stop button is pressed */
        TIM1->break_dead_time |= TIMER_MAIN_OUTPUT;
    } else {
        TIM1->break_dead_time &= ~(uint32_t)TIMER_MAIN_OUTPUT;
    }
    pin_write(GPIO_D, BRIDGE_ON, enabled);
    off_if_stopped();
}

/* Let a pulse that has begun come to its end; a driver may miss a shorter one. */
static void finish_pulse(void)
{
    for (int turn = 0; turn < 2 * PULSE && TIM2->count >= TIM2->compare[3]; turn++) {
    }
}

static void stop_pulses(void)
{
    finish_pulse();
    TIM2->control1 &= ~(uint32_t)TIMER_ON;
}

static void run_pulses(int32_t rate)
{
    uint32_t magnitude = (uint32_t)(rate < 0 ? -rate : rate);
    uint32_t period = (uint32_t)((uint64_t)STEP_TIMER_HZ * 1000 / magnitude);
    uint32_t pulse_begins = period - PULSE;
    stop_pulses();
    if ((rate ^ step_rate) < 0 || step_rate == 0) {
        pin_write(GPIO_B, STEP_DIRECTION, rate > 0);
        TIM2->count = 0;                /* a whole period: ample time for the direction */
    } else {
        /* the share of the way to the next pulse stays what it was, and the pulse stays whole */
        uint32_t share = (uint32_t)((uint64_t)TIM2->count * period / (TIM2->reload + 1ull));
        TIM2->count = share < pulse_begins ? share : pulse_begins - 1;
    }
    TIM2->reload = period - 1;
    TIM2->compare[3] = pulse_begins;
    TIM2->control1 |= TIMER_ON;
}

void hal_set_stepper(bool enabled, int32_t rate)
{
    rate = rate > FASTEST_RATE ? FASTEST_RATE : rate < -FASTEST_RATE ? -FASTEST_RATE : rate;
    /* slower than 1 in 50 s does not fit the timer and is no motion */
    if (!enabled || (rate > -20 && rate < 20)) {
        rate = 0;
    }
    pin_write(GPIO_B, STEP_OFF, !enabled);
    if (rate != step_rate) {
        if (rate == 0) {
            stop_pulses();
        } else {
            run_pulses(rate);
        }
        step_rate = rate;
    }
    off_if_stopped();
}

int32_t hal_steps_sent(void)
{
    return (int32_t)steps_sent;
}
