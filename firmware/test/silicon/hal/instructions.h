/* In the place of hal/instructions.h, where the board back end runs on this computer. */
#ifndef FLEX_INSTRUCTIONS_H
#define FLEX_INSTRUCTIONS_H

#include <stdint.h>

static inline uint32_t interrupts_mask(void) { return 0; }
static inline void interrupts_restore(uint32_t previous) { (void)previous; }
static inline void memory_barrier(void) {}

#endif
