/* Our memcpy and its like, under other names, against those of the C library. */
#include <string.h>

#include "test/check.h"

#define memcpy own_memcpy
#define memmove own_memmove
#define memset own_memset
#define memcmp own_memcmp
#include "core/memory.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp

enum { SIZE = 24 };

static void fill(unsigned char *bytes, unsigned from)
{
    for (unsigned i = 0; i < SIZE; i++) {
        bytes[i] = (unsigned char)(from + 37 * i);
    }
}

TEST(moving_overlapping_bytes_agrees_with_the_library)
{
    for (size_t to = 0; to < SIZE; to++) {
        for (size_t from = 0; from < SIZE; from++) {
            size_t most = SIZE - (to > from ? to : from);
            for (size_t size = 0; size <= most; size++) {
                unsigned char ours[SIZE], theirs[SIZE];
                fill(ours, 1);
                fill(theirs, 1);
                CHECK(own_memmove(ours + to, ours + from, size) == ours + to);
                memmove(theirs + to, theirs + from, size);
                CHECK(memcmp(ours, theirs, SIZE) == 0);
            }
        }
    }
}

TEST(copying_and_setting_agree_with_the_library)
{
    unsigned char source[SIZE], ours[SIZE], theirs[SIZE];
    fill(source, 9);
    for (size_t size = 0; size <= SIZE; size++) {
        fill(ours, 1);
        fill(theirs, 1);
        own_memcpy(ours, source, size);
        memcpy(theirs, source, size);
        CHECK(memcmp(ours, theirs, SIZE) == 0);
        own_memset(ours, 0x1FE, size);
        memset(theirs, 0x1FE, size);
        CHECK(memcmp(ours, theirs, SIZE) == 0);
    }
}

TEST(comparing_has_the_sign_of_the_first_difference)
{
    CHECK(own_memcmp("abc", "abd", 2) == 0);
    CHECK(own_memcmp("abc", "abd", 3) < 0);
    CHECK(own_memcmp("ab\xff", "ab\x01", 3) > 0);
}

int main(void)
{
    RUN(moving_overlapping_bytes_agrees_with_the_library);
    RUN(copying_and_setting_agree_with_the_library);
    RUN(comparing_has_the_sign_of_the_first_difference);
    return 0;
}
