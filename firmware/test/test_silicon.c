/*
 * The board back end on a model of the chip: what it writes into registers, read back as the
 * reference manual (RM0090) and the data sheet of the STM32F407 say what it means.
 */
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hal/hal.h"
#include "hal/handlers.h"
#include "hal/memory_test.h"
#include "test/check.h"
#include "test/silicon/silicon.h"

#define BETWEEN(least, value, most) CHECK((value) >= (least) && (value) <= (most))

bool memory_works = true;
static struct hal_identity identity;

static void start(void)
{
    hal_start(&identity);
}

static void power_up_and_start(void)
{
    silicon_power_up();
    CHECK(!silicon_resets(start));
}

/* [MHz] */
static struct clocks { double core, apb1, apb2, timers1, timers2, random; } clocks(double crystal)
{
    double input = (bits(RCC_PLLCFGR, 22, 1) ? crystal : 16.0) / bits(RCC_PLLCFGR, 0, 6);
    double oscillator = input * bits(RCC_PLLCFGR, 6, 9);
    BETWEEN(1, input, 2);
    BETWEEN(100, oscillator, 432);
    CHECK_EQUAL(bits(RCC_CFGR, 0, 2), 2);           /* runs from the PLL */
    CHECK_EQUAL(bits(RCC_CFGR, 4, 4), 0);           /* AHB as fast as the core */
    struct clocks result = {.core = oscillator / (2.0 + 2.0 * bits(RCC_PLLCFGR, 16, 2)),
                            .random = oscillator / bits(RCC_PLLCFGR, 24, 4)};
    uint32_t slow = bits(RCC_CFGR, 10, 3), fast = bits(RCC_CFGR, 13, 3);
    result.apb1 = result.core / (slow & 4 ? 2 << (slow & 3) : 1);
    result.apb2 = result.core / (fast & 4 ? 2 << (fast & 3) : 1);
    result.timers1 = result.apb1 * (slow & 4 ? 2 : 1);
    result.timers2 = result.apb2 * (fast & 4 ? 2 : 1);
    return result;
}

static void check_clocks(void)
{
    struct clocks now = clocks(CRYSTAL_MHZ);
    CHECK(now.core == 168 && now.random == 48);
    BETWEEN(0, now.apb1, 42);
    BETWEEN(0, now.apb2, 84);
    /* from 2.7 V on the flash needs a wait state for every 30 MHz */
    CHECK_EQUAL(bits(FLASH_ACR, 0, 3), 5);
    CHECK_EQUAL(bits(FLASH_ACR, 8, 1), 0);          /* no prefetch: revision A */
}

TEST(clocks_are_in_their_limits)
{
    power_up_and_start();
    check_clocks();
    CHECK_EQUAL(bits(RCC_CR, 19, 1), 1);            /* the crystal is guarded */
    CHECK(identity.healthy);
    CHECK_EQUAL(identity.uid[0], 77);
}

TEST(board_without_crystal_keeps_time_and_says_that_it_is_ill)
{
    silicon_power_up();
    around.crystal = false;
    CHECK(!silicon_resets(start));
    check_clocks();
    CHECK(!identity.healthy);
}

TEST(program_that_a_boot_loader_jumps_to_resets)
{
    silicon_power_up();
    set_reg(RCC_CFGR, 2 | 2 << 2);
    CHECK(silicon_resets(start));
}

TEST(microseconds_are_microseconds)
{
    power_up_and_start();
    CHECK(clocks(CRYSTAL_MHZ).timers1 / (reg(TIM_5 + PSC) + 1) == 1);
    CHECK_EQUAL(reg(TIM_5 + ARR), UINT32_MAX);
    CHECK_EQUAL(reg(TIM_5 + CR1), 1);
}

TEST(pins_have_the_functions_of_the_data_sheet)
{
    enum { INPUT, OUTPUT, FUNCTION, ANALOG };
    /* data sheet DS8626, table of alternate functions */
    static const struct { char port; uint8_t pin, mode, function; } PINS[] = {
        {'B', 6, FUNCTION, 7}, {'B', 7, FUNCTION, 7}, {'B', 4, FUNCTION, 2}, {'B', 5, FUNCTION, 2},
        {'C', 6, FUNCTION, 3}, {'C', 7, FUNCTION, 3}, {'E', 9, FUNCTION, 1}, {'E', 11, FUNCTION, 1},
        {'E', 15, FUNCTION, 1}, {'B', 11, FUNCTION, 1},
        {'D', 10, OUTPUT, 0}, {'B', 12, OUTPUT, 0}, {'B', 13, OUTPUT, 0},
        {'A', 1, ANALOG, 0}, {'A', 2, ANALOG, 0}, {'A', 3, ANALOG, 0},
        {'E', 7, INPUT, 0}, {'E', 8, INPUT, 0}, {'E', 10, INPUT, 0}, {'E', 12, INPUT, 0},
    };
    power_up_and_start();
    for (unsigned i = 0; i < sizeof PINS / sizeof PINS[0]; i++) {
        char name = PINS[i].port;
        unsigned pin = PINS[i].pin;
        CHECK_EQUAL(bits(port(name, MODER), 2 * pin, 2), PINS[i].mode);
        CHECK_EQUAL(bits(port(name, AFRL + pin / 8 * 4), pin % 8 * 4, 4), PINS[i].function);
        if (PINS[i].mode == INPUT) {
            CHECK_EQUAL(bits(port(name, PUPDR), 2 * pin, 2), 1);
        }
    }
    /* those of the debugger stay what they are after a reset */
    CHECK_EQUAL(reg(port('A', MODER)) >> 26, 0xA8000000u >> 26);
}

TEST(every_interrupt_that_is_on_has_a_place_and_what_stops_comes_first)
{
    power_up_and_start();
    CHECK_EQUAL(reg(NVIC_ISER), 1u << 1 | 1u << 23 | 1u << 28);
    CHECK_EQUAL(reg(NVIC_ISER + 4), 1u << (37 - 32) | 1u << (40 - 32));
    CHECK_EQUAL(reg(NVIC_ISER + 8), 1u << (70 - 64));
    for (unsigned number = 0; number < 82; number++) {
        bool stops = number == 1 || number == 23 || number == 40;
        if (bits(NVIC_ISER + number / 32 * 4, number % 32, 1)) {
            CHECK_EQUAL(bits(NVIC_IPR + number / 4 * 4, number % 4 * 8, 8) == 0, stops);
        }
    }
}

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

static void lose_supply(void)
{
    give_supply(true);
    serve_interrupts();
}

TEST(supply_that_falls_stops_the_motors_and_is_told_after_the_reset)
{
    power_up_and_start();
    run_both();
    CHECK_EQUAL(bits(POWER_CR, 5, 3), 5);           /* 2.7 V */
    CHECK(silicon_resets(lose_supply));
    check_off();
    silicon_power_up();
    set_reg(RCC_CSR, 1u << 28 | 1u << 26);          /* a reset by software, and its pin */
    CHECK(!silicon_resets(start));
    CHECK_EQUAL(identity.reset, RESET_CAUSE_LOW_VOLTAGE);
}

TEST(cause_of_the_reset_is_told_and_forgotten)
{
    /* flags that stand together: RM0090, RCC_CSR */
    static const struct { uint32_t flags; enum reset_cause cause; } CAUSES[] = {
        {0x0E000000, RESET_CAUSE_POWER}, {0x06000000, RESET_CAUSE_LOW_VOLTAGE},
        {0x04000000, RESET_CAUSE_PIN}, {0x14000000, RESET_CAUSE_SOFTWARE},
        {0x24000000, RESET_CAUSE_INDEPENDENT_WATCHDOG}, {0, RESET_CAUSE_UNKNOWN},
    };
    for (unsigned i = 0; i < sizeof CAUSES / sizeof CAUSES[0]; i++) {
        silicon_power_up();
        set_reg(RCC_CSR, CAUSES[i].flags);
        CHECK(!silicon_resets(start));
        CHECK_EQUAL(identity.reset, CAUSES[i].cause);
        CHECK_EQUAL(reg(RCC_CSR) >> 25, 0);
    }
}

TEST(watchdog_bites_within_100_ms_and_also_under_a_debugger)
{
    silicon_power_up();
    set_reg(DBGMCU_APB1_FZ, 1u << 12);
    CHECK(!silicon_resets(start));
    CHECK_EQUAL(bits(DBGMCU_APB1_FZ, 12, 1), 0);
    CHECK_EQUAL(around.fed, 1);
    double ticks = (reg(IWDG_RLR) + 1.0) * (4 << reg(IWDG_PR));
    BETWEEN(30, ticks / 47, 100);                   /* its oscillator: 17 to 47 kHz */
    BETWEEN(30, ticks / 17, 100);
    hal_feed_watchdog();
    CHECK_EQUAL(around.fed, 2);
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
    set_reg(ADC1_CR2, 0x303);
    hal_read_sensors(&sensors);
    CHECK_EQUAL(bits(ADC1_SR, 5, 1), 0);
    CHECK_EQUAL(bits(stream(0, SCR), 0, 1), 1);
    CHECK_EQUAL(bits(ADC1_CR2, 30, 1), 1);
}

TEST(baud_rate_is_within_a_percent)
{
    power_up_and_start();
    CHECK_EQUAL(reg(USART1_CR1), 1 << 13 | 1 << 3 | 1 << 2);    /* 8 bits, no parity, 16 samples */
    double baud = clocks(CRYSTAL_MHZ).apb2 * 1e6 / reg(USART1_BRR);
    CHECK(fabs(baud / 921600 - 1) < 0.01);
    CHECK_EQUAL(reg(USART1_CR3), 1 << 7 | 1 << 6 | 1);
}

/* What the DMA does with the piece that it was given. */
static size_t send_piece(uint8_t *to)
{
    size_t size = reg(stream(7, NDTR));
    memcpy(to, (void *)(uintptr_t)reg(stream(7, M0AR)), size);
    CHECK_EQUAL(bits(stream(7, SCR), 0, 1), 1);
    set_reg(stream(7, SCR), reg(stream(7, SCR)) & ~1u);
    set_reg(DMA2_HISR, 1u << 27 | 1u << 26);
    serve_interrupts();
    return size;
}

TEST(bytes_leave_in_their_order_through_the_wrap_of_the_buffer)
{
    uint8_t queued[777], heard[2 * sizeof queued];
    power_up_and_start();
    size_t room = hal_serial_room();
    for (uint8_t turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < sizeof queued; i++) {
            queued[i] = (uint8_t)(i * 7 + turn);
        }
        hal_serial_write(queued, 100);
        hal_serial_write(queued + 100, sizeof queued - 100);
        CHECK_EQUAL(bits(stream(7, SCR), 25, 3), 4);
        CHECK_EQUAL(bits(stream(7, SCR), 6, 2), 1);
        CHECK_EQUAL(reg(stream(7, PAR)), USART1_DR);
        size_t size = 0;
        while (bits(stream(7, SCR), 0, 1)) {
            size += send_piece(heard + size);
            serial_sent_handler();                  /* once more, which must not matter */
        }
        CHECK_EQUAL(size, sizeof queued);
        CHECK(memcmp(queued, heard, size) == 0);
        CHECK_EQUAL(hal_serial_room(), room);
    }
}

TEST(bytes_arrive_in_their_order_through_the_wrap_of_the_buffer)
{
    uint8_t heard[500];
    power_up_and_start();
    CHECK_EQUAL(reg(stream(5, SCR)), 4u << 25 | 1 << 10 | 1 << 8 | 1);
    CHECK_EQUAL(reg(stream(5, PAR)), USART1_DR);
    uint8_t *buffer = (uint8_t *)(uintptr_t)reg(stream(5, M0AR));
    uint32_t size = reg(stream(5, NDTR)), at = 0;
    for (uint8_t turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < sizeof heard; i++) {
            buffer[at] = (uint8_t)(i * 3 + turn);
            at = (at + 1) % size;
        }
        set_reg(stream(5, NDTR), size - at);
        CHECK_EQUAL(hal_serial_read(heard, 200), 200);
        CHECK_EQUAL(hal_serial_read(heard + 200, 500), 300);
        CHECK_EQUAL(hal_serial_read(heard, 1), 0);
        for (size_t i = 0; i < sizeof heard; i++) {
            CHECK_EQUAL(heard[i], (uint8_t)(i * 3 + turn));
        }
    }
}

/* Each in a process of its own, as a chip that has just been switched on. */
static void run_apart(void (*test)(void), const char *name)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
        exit(1);
    }
    printf("passed: %s\n", name);
}
#define RUN_APART(name) run_apart(name, #name)

int main(void)
{
    RUN_APART(clocks_are_in_their_limits);
    RUN_APART(board_without_crystal_keeps_time_and_says_that_it_is_ill);
    RUN_APART(program_that_a_boot_loader_jumps_to_resets);
    RUN_APART(microseconds_are_microseconds);
    RUN_APART(pins_have_the_functions_of_the_data_sheet);
    RUN_APART(every_interrupt_that_is_on_has_a_place_and_what_stops_comes_first);
    RUN_APART(bridge_gets_its_duty_at_20_kHz_and_brakes_in_between);
    RUN_APART(outputs_are_off_at_start_and_before_their_pins_are_outputs);
    RUN_APART(stop_button_stops_both_without_a_storm_of_interrupts);
    RUN_APART(switches_that_opened_for_a_moment_are_seen);
    RUN_APART(supply_that_falls_stops_the_motors_and_is_told_after_the_reset);
    RUN_APART(cause_of_the_reset_is_told_and_forgotten);
    RUN_APART(watchdog_bites_within_100_ms_and_also_under_a_debugger);
    RUN_APART(pulses_have_rate_direction_and_a_width_that_every_driver_takes);
    RUN_APART(change_of_rate_leaves_every_pulse_whole);
    RUN_APART(pulse_is_counted_once_though_its_interrupt_comes_twice);
    RUN_APART(encoders_count_all_four_edges_behind_a_filter);
    RUN_APART(converter_samples_three_inputs_sixteen_times_in_a_control_step);
    RUN_APART(sums_of_conversions_are_those_of_their_input_and_fit_16_bits);
    RUN_APART(converter_that_was_overrun_runs_again);
    RUN_APART(baud_rate_is_within_a_percent);
    RUN_APART(bytes_leave_in_their_order_through_the_wrap_of_the_buffer);
    RUN_APART(bytes_arrive_in_their_order_through_the_wrap_of_the_buffer);
    return 0;
}
