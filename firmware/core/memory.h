/* The functions that a compiler expects even where there is no C library. */
#ifndef FLEX_MEMORY_H
#define FLEX_MEMORY_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);

#endif
