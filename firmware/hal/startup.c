/*
 * From reset to main, and the vector table.
 *
 * A back end defines the handlers it uses; all others, and every crash, switch the motors off and
 * reset the processor, which then comes up disarmed and says that software asked for it.
 */
#include "hal/cortex_m4.h"
#include "hal/handlers.h"
#include "hal/hal.h"
#include "hal/memory_test.h"

extern uint32_t stack_top, data_source, data_begin, data_end, bss_begin, bss_end, ram_end;

bool memory_works;

int main(void);
/* those that this back end does not define */
#pragma weak systick_handler = crash_handler
#pragma weak supply_handler = crash_handler
#pragma weak step_pulse_handler = crash_handler
#pragma weak serial_handler = crash_handler
#pragma weak serial_sent_handler = crash_handler
#pragma weak switches_handler = crash_handler

typedef void (*handler)(void);

/* places behind the stack pointer; numbers of the interrupts: RM0090, table 62 */
enum { RESET, NMI, HARD_FAULT, MEMORY_FAULT, BUS_FAULT, USAGE_FAULT, SYSTICK = 14,
       INTERRUPT_0 = 15, LAST = INTERRUPT_0 + 81 };

static const struct {
    uint32_t *stack;
    handler handlers[LAST + 1];
} vectors __attribute__((section(".vectors"), used)) = {
    .stack = &stack_top,
    .handlers = {
        [RESET] = reset_handler,
        /* an interrupt without a handler finds no address here, which is a hard fault */
        [NMI] = crash_handler, [HARD_FAULT] = crash_handler, [MEMORY_FAULT] = crash_handler,
        [BUS_FAULT] = crash_handler, [USAGE_FAULT] = crash_handler,
        [SYSTICK] = systick_handler,
        [INTERRUPT_0 + 1] = supply_handler,
        [INTERRUPT_0 + 23] = switches_handler,
        [INTERRUPT_0 + 28] = step_pulse_handler,
        [INTERRUPT_0 + 37] = serial_handler,
        [INTERRUPT_0 + 40] = switches_handler,
        [INTERRUPT_0 + 70] = serial_sent_handler,
    },
};

/* Every word beyond the stack keeps both of two complementary patterns, and then its old value. */
static bool test_memory(void)
{
    for (volatile uint32_t *word = &data_begin; word < &ram_end; word++) {
        uint32_t before = *word;
        *word = 0x5A5AA5A5;
        bool works = *word == 0x5A5AA5A5;
        *word = 0xA5A55A5A;
        works = works && *word == 0xA5A55A5A;
        *word = before;
        if (!works) {
            return false;
        }
    }
    return true;
}

static _Noreturn void __attribute__((used)) stop_and_reset(void)
{
    hal_outputs_off();
    processor_reset();
}

/* On a stack of its own again, because the old one may have grown out of the memory. */
__attribute__((naked)) void crash_handler(void)
{
    __asm volatile("ldr r0, =stack_top\n\tmov sp, r0\n\tb stop_and_reset");
}

void reset_handler(void)
{
    bool works = test_memory();

    for (uint32_t *to = &data_begin, *from = &data_source; to < &data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &bss_begin; to < &bss_end;) {
        *to++ = 0;
    }
    memory_works = works;
    main();
    stop_and_reset();
}
