/* A design that replaces another one in generated C99: set points of two joints, as golden.c.
 *
 * usage: replacing free|limited SAMPLE
 */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

#define REPLACE(OLD, NEW)                                                                         \
    do {                                                                                          \
        static OLD##_state old;                                                                   \
        static NEW##_state new;                                                                   \
        double row[2], out[3], unused[2];                                                         \
        long k = 0;                                                                               \
        if (fread(row, sizeof(double), 2, stdin) != 2 || OLD##_reset(&old, row, 0) != 0)          \
            return 1;                                                                             \
        while (fread(row, sizeof(double), 2, stdin) == 2) {                                       \
            k++;                                                                                  \
            if (k == change                                                                       \
                && NEW##_replace(&new, old.accepted, out + 1, OLD##_tables.duration) != 0)        \
                return 1;                                                                         \
            if (k < change) {                                                                     \
                out[0] = OLD##_step(&old, row, out + 1);                                          \
            } else if (new.age < 1.0) {                                                           \
                OLD##_step(&old, row, unused);                                                    \
                out[0] = NEW##_step_replacing(&new, row, old.output, out + 1);                    \
            } else {                                                                              \
                out[0] = NEW##_step(&new, row, out + 1);                                          \
            }                                                                                     \
            fwrite(out, sizeof(double), 3, stdout);                                               \
        }                                                                                         \
    } while (0)

int main(int argc, char **argv)
{
    const long change = argc == 3 ? atol(argv[2]) : 0;
    if (change < 2)
        return 1;
    if (strcmp(argv[1], "free") == 0)
        REPLACE(two_modes, by_pose);
    else
        REPLACE(limited, limited_slow);
    return 0;
}
