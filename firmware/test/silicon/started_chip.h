/* What every test of the board back end begins with: a chip that starts, and its clocks. */
#ifndef FLEX_STARTED_CHIP_H
#define FLEX_STARTED_CHIP_H

#include <sys/wait.h>
#include <unistd.h>

#include "hal/hal.h"
#include "hal/memory_test.h"
#include "test/check.h"
#include "test/silicon/silicon.h"

#define BETWEEN(least, value, most) CHECK((value) >= (least) && (value) <= (most))

bool memory_works = true;
static struct hal_identity identity;

static inline void start(void)
{
    hal_start(&identity);
}

static inline void power_up_and_start(void)
{
    silicon_power_up();
    CHECK(!silicon_resets(start));
}

struct clocks { double core, apb1, apb2, timers1, timers2, random; };      /* [MHz] */

/* What the registers make of the crystal, and whether this is allowed. */
static inline struct clocks clocks(double crystal)
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

/* Each in a process of its own, as a chip that has just been switched on. */
static inline void run_apart(void (*test)(void), const char *name)
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

#endif
