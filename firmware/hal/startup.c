/*
 * From reset to main, and the vector table.
 *
 * A back end defines the handlers it uses; all others, and every crash, switch the motors off and
 * reset the processor, which then comes up disarmed and says that software asked for it.
 */
#include "hal/cortex_m4.h"
#include "hal/hal.h"

extern uint32_t stack_top, data_source, data_begin, data_end, bss_begin, bss_end;

int main(void);
_Noreturn void reset_handler(void);
_Noreturn void crash_handler(void);

#define OR_CRASH __attribute__((weak, alias("crash_handler")))

void systick_handler(void) OR_CRASH;
void stop_button_handler(void) OR_CRASH;
void bridge_break_handler(void) OR_CRASH;
void step_pulse_handler(void) OR_CRASH;
void serial_handler(void) OR_CRASH;
void serial_sent_handler(void) OR_CRASH;

typedef void (*handler)(void);

/* places behind the stack pointer; numbers of the interrupts: RM0090, table 62 */
enum { RESET = 0, NMI = 1, SYSTICK = 14, INTERRUPT_0 = 15, LAST = INTERRUPT_0 + 81 };

static const struct {
    uint32_t *stack;
    handler handlers[LAST + 1];
} vectors __attribute__((section(".vectors"), used)) = {
    .stack = &stack_top,
    .handlers = {
        [RESET] = reset_handler,
        [NMI ... LAST] = crash_handler,
        [SYSTICK] = systick_handler,
        [INTERRUPT_0 + 24] = bridge_break_handler,
        [INTERRUPT_0 + 28] = step_pulse_handler,
        [INTERRUPT_0 + 37] = serial_handler,
        [INTERRUPT_0 + 40] = stop_button_handler,
        [INTERRUPT_0 + 70] = serial_sent_handler,
    },
};

void reset_handler(void)
{
    FPU_ACCESS |= 0xFu << 20;
    memory_barrier();
    for (uint32_t *to = &data_begin, *from = &data_source; to < &data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &bss_begin; to < &bss_end;) {
        *to++ = 0;
    }
    main();
    crash_handler();
}

void crash_handler(void)
{
    hal_outputs_off();
    processor_reset();
}
