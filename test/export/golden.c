/* Shapes set points from standard input by generated C99, as golden.cpp. */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

int main(int argc, char **argv)
{
    int k;
    double row[16];
    if (argc < 2)
        return 1;
    for (k = 0; k < COUNT; k++) {
        const struct golden_case *one = &CASES[k];
        const size_t n = (size_t)one->tables->joints;
        if (strcmp(argv[1], one->name) != 0)
            continue;
        if (fread(row, sizeof(double), n, stdin) != n || one->reset(row) != FLEX_SHAPER_OK)
            return 1;
        long rows = 0;
        while (fread(row, sizeof(double), n, stdin) == n) {
            double out[17];
            out[0] = one->step(row, out + 1);
            fwrite(out, sizeof(double), n + 1, stdout);
            if (++rows % 1000 == 0)
                fflush(stdout);
        }
        return 0;
    }
    return 1;
}
