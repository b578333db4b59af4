/* What start-up found out before it laid anything into memory. */
#ifndef FLEX_MEMORY_TEST_H
#define FLEX_MEMORY_TEST_H

#include <stdbool.h>

extern bool memory_works;

#endif
