"""
Memory at hand for a thread that must not wait.

The C library returns large blocks to the operating system when they are freed. The next large
block then costs a page fault for every 4 kB. A message of 4 MB takes 6 ms instead of 1 ms, and
rclpy holds the lock of the interpreter all that time.
"""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3     # parameters of mallopt
MAX_BLOCK = 32 << 20        # larger blocks always come from the operating system         [bytes]
NO_LIMIT = (1 << 31) - 1


def reserve_memory(size: int, count: int) -> None:
    """
    Keep freed memory in this process, and make sure that `count` blocks are at hand.

    It helps the calling thread if that is the main one, under glibc, and blocks up to MAX_BLOCK.

    :param size: of a block [bytes].
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is None:         # another C library
        return
    mallopt(M_MMAP_THRESHOLD, MAX_BLOCK)
    mallopt(M_TRIM_THRESHOLD, NO_LIMIT)
    blocks = [b'\1' * size for _ in range(count)]     # zeros would not touch the pages
    del blocks
