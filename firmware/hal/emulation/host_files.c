#include "hal/emulation/host_files.h"

#include "hal/cortex_m4.h"

enum { SYS_OPEN = 1, SYS_WRITE = 5, SYS_READ = 6, MODE_READ = 1, MODE_WRITE = 5 };

static int32_t ask_host(uint32_t operation, const uint32_t *block)
{
    register uint32_t r0 __asm("r0") = operation;
    register const uint32_t *r1 __asm("r1") = block;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static uint32_t address_of(volatile const void *place)
{
    return (uint32_t)(uintptr_t)place;
}

int32_t host_file_open(volatile const char *path, bool for_writing)
{
    uint32_t length = 0;
    while (path[length]) {
        length++;
    }
    uint32_t block[] = {address_of(path), for_writing ? MODE_WRITE : MODE_READ, length};
    return ask_host(SYS_OPEN, block);
}

/* Both calls say how many bytes they have not moved; all of them: the host has gone. */
static void move(uint32_t operation, int32_t handle, uint32_t at, size_t size)
{
    while (size != 0) {
        uint32_t block[] = {(uint32_t)handle, at, size};
        size_t left = (size_t)ask_host(operation, block);
        while (left >= size) {
            wait_for_interrupt();
        }
        at += size - left;
        size = left;
    }
}

void host_file_read(int32_t handle, volatile void *to, size_t size)
{
    move(SYS_READ, handle, address_of(to), size);
}

void host_file_write(int32_t handle, volatile const void *from, size_t size)
{
    move(SYS_WRITE, handle, address_of(from), size);
}
