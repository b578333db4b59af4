// Memory for programs that must not allocate any in an update: they abort if they do.
#pragma once

#include <cstdlib>
#include <new>

static bool is_allowed = true;  // to allocate memory
// not inlined: the compiler would compare each of them with the other one's allocator
#define APART __attribute__((noinline))
APART void *operator new(std::size_t size) {
    if (!is_allowed) {
        std::abort();
    }
    return std::malloc(size);
}
APART void operator delete(void *data) noexcept { std::free(data); }
APART void operator delete(void *data, std::size_t) noexcept { std::free(data); }
