/* PWM and step pulses at the motors, and every condition that stops them. */
#include <math.h>

#include "hal/handlers.h"
#include "test/silicon/started_chip.h"

/* Mean voltage at the motor [shares of the supply], and shares of the time it is braked and free. */
static struct bridge { double voltage, brakes, coasts; } bridge(void)
{
    double period = reg(TIM_1 + ARR) + 1.0, one = fmin(reg(TIM_1 + CCR1), period);
    double other = fmin(reg(TIM_1 + CCR2), period);
    /* mode 1: high while the counter is below */
    CHECK_EQUAL(bits(TIM_1 + CCMR1, 4, 3), 6);
    CHECK_EQUAL(bits(TIM_1 + CCMR1, 12, 3), 6);
    CHECK_EQUAL(reg(TIM_1 + CCER), 0x11);
    if (!bits(TIM_1 + BDTR, 15, 1) || !bits(port('D', ODR), 10, 1)) {
        return (struct bridge){0, 0, 1};
    }
    return (struct bridge){(one - other) / period, fmin(one, other) / period,
                           1 - fmax(one, other) / period};
}

TEST(bridge_gets_its_duty_at_20_kHz_and_brakes_in_between)
{
    power_up_and_start();
    CHECK(clocks(CRYSTAL_MHZ).timers2 * 1e3 / (reg(TIM_1 + PSC) + 1) / (reg(TIM_1 + ARR) + 1) == 20);
    for (int32_t duty = -DUTY_ONE; duty <= DUTY_ONE; duty += 625) {
        hal_set_bridge(true, duty);
        struct bridge now = bridge();
        double wanted = (double)duty / DUTY_ONE;
        CHECK(fabs(now.voltage - wanted) <= 1.0 / 8400);        /* one tick of the timer */
        CHECK(fabs(now.brakes - (1 - fabs(now.voltage))) < 1e-12);
        CHECK(now.coasts < 1e-12);
    }
    hal_set_bridge(false, 5000);
    CHECK(bridge().coasts == 1);
}

static void check_off(void)
{
    CHECK_EQUAL(bits(TIM_1 + BDTR, 15, 1), 0);
    CHECK_EQUAL(bits(TIM_1 + BDTR, 10, 1), 1);      /* driven low, by idle levels of 0 */
    CHECK_EQUAL(reg(TIM_1 + CR2), 0);
    CHECK_EQUAL(bits(port('D', ODR), 10, 1), 0);
    CHECK_EQUAL(bits(port('B', ODR), 13, 1), 1);
    CHECK_EQUAL(bits(TIM_2 + CR1, 0, 1), 0);
}

static void run_both(void)
{
    hal_set_bridge(true, 3000);
    hal_set_stepper(true, 1600000);
    CHECK(bridge().voltage > 0.29);
    CHECK_EQUAL(bits(port('B', ODR), 13, 1), 0);
    CHECK_EQUAL(bits(TIM_2 + CR1, 0, 1), 1);
}

TEST(outputs_are_off_at_start_and_before_their_pins_are_outputs)
{
    power_up_and_start();
    check_off();
    CHECK_EQUAL(around.fell_as_output[3], 1u << 10);
    CHECK_EQUAL(around.rose_as_output[1], 1u << 13);
}

TEST(stop_button_stops_both_without_a_storm_of_interrupts)
{
    power_up_and_start();
    run_both();
    give_level('E', 15, true);
    CHECK_EQUAL(bits(TIM_1 + BDTR, 15, 1), 0);      /* before any software */
    CHECK_EQUAL(serve_interrupts(), 1);
    check_off();
    hal_set_bridge(true, 5000);
    hal_set_stepper(true, 1600000);
    check_off();
    give_level('E', 15, false);
    CHECK_EQUAL(serve_interrupts(), 0);
    check_off();
    run_both();
}

static void lose_supply(void)
{
    give_supply(true);
    serve_interrupts();
}

TEST(supply_that_falls_stops_the_motors_and_is_reported_after_the_reset)
{
    power_up_and_start();
    run_both();
    CHECK_EQUAL(bits(POWER_CR, 5, 3), 4);           /* 2.7 V: far from the 3.0 V of the board */
    CHECK(silicon_resets(lose_supply));
    check_off();
    silicon_power_up();
    set_reg(RCC_CSR, 1u << 28 | 1u << 26);          /* a reset by software, and its pin */
    CHECK(!silicon_resets(start));
    CHECK_EQUAL(identity.reset, RESET_CAUSE_LOW_VOLTAGE);
}

/* [us] */
static double pulse_width(void)
{
    return (reg(TIM_2 + ARR) + 1.0 - reg(TIM_2 + CCR4)) / clocks(CRYSTAL_MHZ).timers1;
}

TEST(pulses_have_rate_direction_and_a_width_that_every_driver_takes)
{
    power_up_and_start();
    CHECK_EQUAL(bits(TIM_2 + CCMR2, 8, 8), 0x70);   /* mode 2: high from CCR4 to the end */
    CHECK_EQUAL(reg(TIM_2 + CCER), 0x1000);
    for (int32_t rate = 20; rate <= 100000000; rate = rate * 3 / 2) {
        for (int sign = -1; sign <= 1; sign += 2) {
            hal_set_stepper(true, sign * rate);
            double ticks = reg(TIM_2 + ARR) + 1.0, made = clocks(CRYSTAL_MHZ).timers1 * 1e9 / ticks;
            CHECK(fabs(made / rate - 1) < 1.0 / ticks);
            CHECK_EQUAL(bits(port('B', ODR), 12, 1), sign > 0);
            /* DRV8825: 1.9 us high and low */
            CHECK(pulse_width() >= 1.9 && ticks / clocks(CRYSTAL_MHZ).timers1 - pulse_width() >= 1.9);
        }
    }
    hal_set_stepper(true, 19);
    CHECK_EQUAL(bits(TIM_2 + CR1, 0, 1), 0);
    hal_set_stepper(true, 200000000);
    CHECK_EQUAL(reg(TIM_2 + ARR) + 1, 840);         /* no faster than 100 kHz */
}

TEST(change_of_rate_leaves_every_pulse_whole)
{
    power_up_and_start();
    for (int32_t before = 100; before <= 50000000; before *= 7) {
        for (int32_t after = 100; after <= 50000000; after *= 5) {
            hal_set_stepper(true, before);
            set_reg(TIM_2 + CNT, reg(TIM_2 + CCR4) - 1);    /* the pulse is about to begin */
            hal_set_stepper(true, after);
            CHECK(reg(TIM_2 + CNT) < reg(TIM_2 + CCR4));
            set_reg(TIM_2 + CNT, 0);
        }
    }
}

TEST(pulse_is_counted_once_though_its_interrupt_comes_twice)
{
    power_up_and_start();
    hal_set_stepper(true, 1000);
    set_reg(TIM_2 + SR, 1);
    CHECK_EQUAL(serve_interrupts(), 1);
    step_pulse_handler();
    CHECK_EQUAL(hal_steps_sent(), 1);
    hal_set_stepper(true, -1000);
    set_reg(TIM_2 + SR, 1);
    serve_interrupts();
    CHECK_EQUAL(hal_steps_sent(), 0);
}

int main(void)
{
    RUN_APART(bridge_gets_its_duty_at_20_kHz_and_brakes_in_between);
    RUN_APART(outputs_are_off_at_start_and_before_their_pins_are_outputs);
    RUN_APART(stop_button_stops_both_without_a_storm_of_interrupts);
    RUN_APART(supply_that_falls_stops_the_motors_and_is_reported_after_the_reset);
    RUN_APART(pulses_have_rate_direction_and_a_width_that_every_driver_takes);
    RUN_APART(change_of_rate_leaves_every_pulse_whole);
    RUN_APART(pulse_is_counted_once_though_its_interrupt_comes_twice);
    return 0;
}
