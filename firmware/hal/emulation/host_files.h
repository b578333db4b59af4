/* Files of the computer that runs QEMU, by semihosting (Arm: Semihosting for AArch32 and AArch64). */
#ifndef FLEX_HOST_FILES_H
#define FLEX_HOST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handle; negative: there is no such file. */
int32_t host_file_open(volatile const char *path, bool for_writing);

/* All of it; the processor stands still until it is there. */
void host_file_read(int32_t handle, volatile void *to, size_t size);
void host_file_write(int32_t handle, volatile const void *from, size_t size);

#endif
