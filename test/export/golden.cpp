// Shapes set points from standard input by the C++ core, for test_generated_code.py.
//
// usage: golden CASE [SAMPLE DESIGN]...   raw doubles; a row of output is a code and the positions
//        golden CASE time ROUNDS          prints nanoseconds for each sample of the input
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <flex_shaper/input_shaper.hpp>
#include <vector>

#include "cases.h"

namespace {

std::vector<double> read_all() {
    std::vector<double> values;
    double block[4096];
    std::size_t count;
    while ((count = std::fread(block, sizeof(double), 4096, stdin)) > 0) {
        values.insert(values.end(), block, block + count);
    }
    return values;
}

flex_shaper::InputShaper shaper_of(const char *name) {
    if (std::strcmp(name, "changing") == 0) {
        return {&limited_tables, &limited_slow_tables, &limited_fast_tables};
    }
    for (const auto &one : CASES) {
        if (std::strcmp(name, one.name) == 0) {
            return flex_shaper::InputShaper(*one.tables);
        }
    }
    std::abort();
}

/// Processor time of this thread [ns].
double processor_time() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char **argv) {
    flex_shaper::InputShaper shaper = shaper_of(argv[1]);
    const std::vector<double> values = read_all();
    const auto n = static_cast<std::size_t>(shaper.joints());
    const std::size_t rows = values.size() / n;
    const auto code = shaper.reset(values.data());
    if (code != FLEX_SHAPER_OK) {
        return code;
    }
    if (argc > 3 && std::strcmp(argv[2], "time") == 0) {
        double best = 1e9;
        for (int round = std::atoi(argv[3]); round > 0; --round) {
            const double begin = processor_time();
            for (std::size_t row = 1; row < rows; ++row) {
                shaper.step(values.data() + row * n);
            }
            best = std::min(best, (processor_time() - begin) / static_cast<double>(rows - 1));
            shaper.reset(values.data());
        }
        std::printf("%.0f\n", best);
        return 0;
    }
    int word = 2;
    for (std::size_t row = 1; row < rows; ++row) {
        double result = 0.0;
        if (word + 1 < argc && std::strtoull(argv[word], nullptr, 10) == row) {
            result = 100.0 * shaper.change(std::strtoull(argv[word + 1], nullptr, 10));
            word += 2;
        }
        result += shaper.step(values.data() + row * n);
        std::fwrite(&result, sizeof result, 1, stdout);
        std::fwrite(shaper.position(), sizeof(double), n, stdout);
    }
    return 0;
}
