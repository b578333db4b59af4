/* Compiled with -fno-tree-loop-distribute-patterns, or the loops would become calls to themselves. */
#include "core/memory.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *target = to;
    const unsigned char *source = from;
    while (size--) {
        *target++ = *source++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *target = to;
    const unsigned char *source = from;
    if (target < source) {
        for (size_t i = 0; i < size; i++) {
            target[i] = source[i];
        }
    } else {
        while (size--) {
            target[size] = source[size];
        }
    }
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    unsigned char *target = to;
    while (size--) {
        *target++ = (unsigned char)byte;
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}
