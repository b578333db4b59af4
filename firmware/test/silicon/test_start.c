/* From power-up to a board that keeps time: clocks, pins, interrupts, resets, watchdog. */
#include "test/silicon/started_chip.h"

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

TEST(cause_of_the_reset_is_reported_once)
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

int main(void)
{
    RUN_APART(clocks_are_in_their_limits);
    RUN_APART(board_without_crystal_keeps_time_and_says_that_it_is_ill);
    RUN_APART(program_that_a_boot_loader_jumps_to_resets);
    RUN_APART(microseconds_are_microseconds);
    RUN_APART(pins_have_the_functions_of_the_data_sheet);
    RUN_APART(every_interrupt_that_is_on_has_a_place_and_what_stops_comes_first);
    RUN_APART(cause_of_the_reset_is_reported_once);
    RUN_APART(watchdog_bites_within_100_ms_and_also_under_a_debugger);
    return 0;
}
