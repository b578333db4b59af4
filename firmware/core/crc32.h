/* CRC-32 as Ethernet, zip and zlib.crc32 have it (reflected, polynomial 0x04C11DB7). */
#ifndef FLEX_CRC32_H
#define FLEX_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Of `bytes`, going on from the CRC of what came before, which is 0 at the start. */
uint32_t crc32_add(uint32_t crc, const void *bytes, size_t size);

#endif
