// Shapes set points from standard input by the C++ core, for test_generated_code.py.
//
// usage: golden CASE [SAMPLE DESIGN]...   raw doubles; a row of output is a code and the positions,
//                                         flushed every 1000 rows
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <flex_shaper/input_shaper.hpp>
#include <vector>

#include "cases.h"

namespace {

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

}  // namespace

int main(int argc, char **argv) {
    flex_shaper::InputShaper shaper = shaper_of(argv[1]);
    const auto n = static_cast<std::size_t>(shaper.joints());
    std::vector<double> sample(n);
    const auto read = [&] { return std::fread(sample.data(), sizeof(double), n, stdin) == n; };
    if (!read() || shaper.reset(sample.data()) != FLEX_SHAPER_OK) {
        return 1;
    }
    int word = 2;
    for (unsigned long long row = 1; read(); ++row) {
        double result = 0.0;
        if (word + 1 < argc && std::strtoull(argv[word], nullptr, 10) == row) {
            result = 100.0 * shaper.change(std::strtoull(argv[word + 1], nullptr, 10));
            word += 2;
        }
        result += shaper.step(sample.data());
        std::fwrite(&result, sizeof result, 1, stdout);
        std::fwrite(shaper.position(), sizeof(double), n, stdout);
        if (row % 1000 == 0) {
            std::fflush(stdout);
        }
    }
    return 0;
}
