/* Encoders, converter and switches. */
#include <math.h>

#include "test/silicon/started_chip.h"

TEST(switches_that_opened_for_a_moment_are_seen)
{
    static const struct { unsigned pin; uint8_t input; } SWITCHES[] = {
        {7, INPUT_SLIDE_LOWER}, {8, INPUT_SLIDE_UPPER}, {10, INPUT_TURN_LOWER},
        {12, INPUT_TURN_UPPER}, {15, INPUT_STOP_BUTTON},
    };
    struct hal_sensors sensors;
    power_up_and_start();
    for (unsigned i = 0; i < 5; i++) {
        give_level('E', SWITCHES[i].pin, true);
        serve_interrupts();
        give_level('E', SWITCHES[i].pin, false);
        hal_read_sensors(&sensors);
        CHECK_EQUAL(sensors.inputs, SWITCHES[i].input);
        hal_read_sensors(&sensors);
        CHECK_EQUAL(sensors.inputs, 0);
        around.high[4] |= (uint16_t)(1u << SWITCHES[i].pin);
        hal_read_sensors(&sensors);
        CHECK_EQUAL(sensors.inputs, SWITCHES[i].input);
        around.high[4] = 0;
    }
}

TEST(encoders_count_all_four_edges_behind_a_filter)
{
    power_up_and_start();
    static const uint32_t DIVIDERS[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 16, 32, 32, 32};
    static const uint32_t SAMPLES[] = {1, 2, 4, 8, 6, 8, 6, 8, 6, 8, 5, 6, 8, 5, 6, 8};
    double clock[] = {clocks(CRYSTAL_MHZ).timers1, clocks(CRYSTAL_MHZ).timers2};
    const uint32_t timers[] = {TIM_3, TIM_8};
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(reg(timers[i] + SMCR), 3);
        CHECK_EQUAL(reg(timers[i] + CCMR1) & 0x0F0F, 0x0101);   /* each input on its own channel */
        CHECK_EQUAL(reg(timers[i] + CCER), 0);
        CHECK_EQUAL(reg(timers[i] + ARR), 0xFFFF);
        CHECK_EQUAL(reg(timers[i] + CR1), 1);
        for (unsigned at = 4; at <= 12; at += 8) {
            uint32_t filter = bits(timers[i] + CCMR1, at, 4);
            /* 5000 turns per minute of 600 pulses: a level lasts 10 us */
            BETWEEN(1, DIVIDERS[filter] * SAMPLES[filter] / clock[i], 5);
        }
    }
    struct hal_sensors sensors;
    set_reg(TIM_3 + CNT, 65535);
    set_reg(TIM_8 + CNT, 7);
    hal_read_sensors(&sensors);
    CHECK_EQUAL(sensors.encoder[0], 65535);
    CHECK_EQUAL(sensors.encoder[1], 7);
}

static uint16_t *conversions(void)
{
    return (uint16_t *)(uintptr_t)reg(stream(0, M0AR));
}

TEST(converter_samples_three_inputs_sixteen_times_in_a_control_step)
{
    power_up_and_start();
    static const unsigned CYCLES[] = {3, 15, 28, 56, 84, 112, 144, 480};
    double clock = clocks(CRYSTAL_MHZ).apb2 / (2 + 2 * bits(ADC_CCR, 16, 2)), round = 0;
    BETWEEN(0.6, clock, 30);                        /* 36 MHz from 2.4 V on, with some room */
    CHECK_EQUAL(bits(ADC1_SQR1, 20, 4), 3 - 1);
    for (unsigned place = 0; place < 3; place++) {
        unsigned input = bits(ADC1_SQR3, 5 * place, 5);
        CHECK_EQUAL(input, place + 1);              /* PA1, PA2, PA3 */
        unsigned sample = CYCLES[bits(ADC1_SMPR2, 3 * input, 3)];
        /* a divider of 10 k to both sides loads 4 pF through 6 k to half a count */
        CHECK(sample / clock > 9.0 * (5e3 + 6e3) * 4e-12 * 1e6);
        round += (sample + 12) / clock;
    }
    CHECK(ADC_CONVERSIONS * round < 1000);
    CHECK_EQUAL(bits(ADC1_CR1, 24, 2), 0);          /* 12 bits */
    CHECK_EQUAL(reg(ADC1_CR2) & 0xB03, 0x303);      /* on, without end, to the DMA, right-aligned */
    uint32_t control = reg(stream(0, SCR));
    CHECK_EQUAL(control >> 25 & 7, 0);              /* channel 0 of stream 0: ADC1 */
    CHECK_EQUAL(control & 0x7FE1, 1 << 13 | 1 << 11 | 1 << 10 | 1 << 8 | 1);
    CHECK_EQUAL(reg(stream(0, PAR)), ADC1_DR);
    CHECK_EQUAL(reg(stream(0, NDTR)), ADC_CONVERSIONS * 3);
}

TEST(sums_of_conversions_are_those_of_their_input_and_fit_16_bits)
{
    struct hal_sensors sensors;
    power_up_and_start();
    for (int i = 0; i < ADC_CONVERSIONS; i++) {
        conversions()[3 * i] = (uint16_t)(100 + i);
        conversions()[3 * i + 1] = 4095;
        conversions()[3 * i + 2] = 4095;
    }
    hal_read_sensors(&sensors);
    CHECK_EQUAL(sensors.flex[0], 16 * 100 + 120);
    CHECK_EQUAL(sensors.flex[1], 65520);
    /* the whole supply at 1.12 V/A, to a milliampere */
    CHECK(fabs(sensors.current - SUPPLY_MV / 1.12) <= 1);
}

TEST(converter_that_was_overrun_runs_again)
{
    struct hal_sensors sensors;
    power_up_and_start();
    set_reg(ADC1_SR, 1 << 5);
    set_reg(stream(0, SCR), 0);
    set_reg(DMA2_LISR, 0);
    hal_read_sensors(&sensors);
    CHECK_EQUAL(bits(ADC1_SR, 5, 1), 0);
    CHECK(around.runs_converter && !around.sequence_slipped);
    CHECK_EQUAL(bits(DMA2_LISR, 5, 1), 1);
}

int main(void)
{
    RUN_APART(switches_that_opened_for_a_moment_are_seen);
    RUN_APART(encoders_count_all_four_edges_behind_a_filter);
    RUN_APART(converter_samples_three_inputs_sixteen_times_in_a_control_step);
    RUN_APART(sums_of_conversions_are_those_of_their_input_and_fit_16_bits);
    RUN_APART(converter_that_was_overrun_runs_again);
    return 0;
}
