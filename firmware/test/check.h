/* What a test needs: CHECK, and a main that runs the tests of its file by name. */
#ifndef FLEX_CHECK_H
#define FLEX_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(truth) \
    do { \
        if (!(truth)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #truth); \
            exit(1); \
        } \
    } while (0)

#define CHECK_EQUAL(seen, wanted) \
    do { \
        int64_t seen_ = (int64_t)(seen), wanted_ = (int64_t)(wanted); \
        if (seen_ != wanted_) { \
            fprintf(stderr, "%s:%d: %s is %" PRId64 " instead of %" PRId64 "\n", \
                    __FILE__, __LINE__, #seen, seen_, wanted_); \
            exit(1); \
        } \
    } while (0)

#define TEST(name) static void name(void)
#define RUN(name) (name(), printf("passed: %s\n", #name))

#endif
