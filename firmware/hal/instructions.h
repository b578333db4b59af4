/* What C has no word for. Tests on another processor put a header of this name before this one. */
#ifndef FLEX_INSTRUCTIONS_H
#define FLEX_INSTRUCTIONS_H

#include <stdint.h>

static inline uint32_t interrupts_mask(void)
{
    uint32_t previous;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(previous) : : "memory");
    return previous;
}

static inline void interrupts_restore(uint32_t previous)
{
    __asm volatile("msr primask, %0" : : "r"(previous) : "memory");
}

static inline void wait_for_interrupt(void)
{
    __asm volatile("wfi" : : : "memory");
}

static inline void memory_barrier(void)
{
    __asm volatile("dsb" : : : "memory");
}

#endif
