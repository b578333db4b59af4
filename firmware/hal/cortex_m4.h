/* The parts of the Cortex-M4 itself that both back ends use (ARMv7-M reference manual, B3). */
#ifndef FLEX_CORTEX_M4_H
#define FLEX_CORTEX_M4_H

#include <stdint.h>

#include "hal/instructions.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define SYSTICK_CONTROL REGISTER(0xE000E010)
#define SYSTICK_RELOAD REGISTER(0xE000E014)
#define SYSTICK_VALUE REGISTER(0xE000E018)
#define INTERRUPT_ENABLE(n) REGISTER(0xE000E100 + 4 * ((n) / 32))
#define INTERRUPT_PRIORITY(n) (*(volatile uint8_t *)(uintptr_t)(0xE000E400 + (n)))
#define RESET_CONTROL REGISTER(0xE000ED0C)

enum { SYSTICK_ON = 1 << 0, SYSTICK_INTERRUPT = 1 << 1, SYSTICK_CORE_CLOCK = 1 << 2 };
#define RESET_REQUEST 0x05FA0004u

static inline void interrupt_enable(unsigned number, uint8_t priority)
{
    INTERRUPT_PRIORITY(number) = (uint8_t)(priority << 4);      /* four bits are implemented */
    INTERRUPT_ENABLE(number) = 1u << (number % 32);
}

_Noreturn static inline void processor_reset(void)
{
    memory_barrier();
    RESET_CONTROL = RESET_REQUEST;
    for (;;) {
        memory_barrier();
    }
}

#endif
