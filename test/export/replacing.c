/* A design that replaces another one in generated C99: set points of two joints, as golden.c.
 *
 * usage: replacing OLD NEW SAMPLE
 */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

#define REPLACE(OLD, NEW)                                                                         \
    do {                                                                                          \
        static OLD##_state old;                                                                   \
        static NEW##_state new;                                                                   \
        double row[2], out[3], replaced[2];                                                       \
        long k = 0;                                                                               \
        if (fread(row, sizeof(double), 2, stdin) != 2 || OLD##_reset(&old, row, 0) != 0)          \
            return 1;                                                                             \
        while (fread(row, sizeof(double), 2, stdin) == 2) {                                       \
            k++;                                                                                  \
            const double duration = OLD##_tables.duration;                                        \
            if (k == change                                                                       \
                && NEW##_replace(&new, old.is_reset, old.accepted, out + 1, duration) != 0)       \
                return 1;                                                                         \
            if (k < change) {                                                                     \
                out[0] = OLD##_step(&old, row, out + 1);                                          \
            } else if (new.age < 1.0) {                                                           \
                OLD##_step(&old, row, replaced);                                                  \
                out[0] = NEW##_step_replacing(&new, row, replaced, out + 1);                      \
            } else {                                                                              \
                out[0] = NEW##_step(&new, row, out + 1);                                          \
            }                                                                                     \
            fwrite(out, sizeof(double), 3, stdout);                                               \
        }                                                                                         \
    } while (0)

static int is_asked(char **argv, const char *old, const char *new)
{
    return strcmp(argv[1], old) == 0 && strcmp(argv[2], new) == 0;
}

int main(int argc, char **argv)
{
    const long change = argc == 4 ? atol(argv[3]) : 0;
    if (change < 2)
        return 1;
    if (is_asked(argv, "two_modes", "by_pose"))
        REPLACE(two_modes, by_pose);
    else if (is_asked(argv, "limited", "limited_slow"))
        REPLACE(limited, limited_slow);
    else if (is_asked(argv, "limited", "two_modes"))
        REPLACE(limited, two_modes);
    else if (is_asked(argv, "two_modes", "limited"))
        REPLACE(two_modes, limited);
    else
        return 1;
    return 0;
}
