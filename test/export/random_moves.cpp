// Random moves with rests by the C++ core, for test_generated_code.py.
//
// usage: random_moves CASE MOVES VELOCITY_LIMIT...   limits of the joints [rad/s], inf without one
// Each move is as fast as the limits permit. The shaped one must keep the limits, stay between both
// ends, and end exactly. Prints the number of samples, or a line about the first failure.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <flex_shaper/input_shaper.hpp>
#include <random>
#include <vector>

#include "cases.h"

int main(int argc, char **argv) {
    const flex_shaper_tables *tables = nullptr;
    for (const auto &one : CASES) {
        if (std::strcmp(argv[1], one.name) == 0) {
            tables = one.tables;
        }
    }
    const long moves = std::atol(argv[2]);
    if (tables == nullptr || argc != 3 + tables->joints) {
        return 2;
    }
    const auto n = static_cast<std::size_t>(tables->joints);
    const double period = tables->period;
    const long rest = std::lround(1.2 * tables->duration / period) + 200;
    std::vector<double> limit(n), begin(n), end(n), sample(n), before(n);
    for (std::size_t j = 0; j < n; ++j) {
        limit[j] = std::atof(argv[3 + j]);
    }
    flex_shaper::InputShaper shaper(*tables);
    if (shaper.reset(begin.data()) != FLEX_SHAPER_OK) {
        return 2;
    }
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> goal(-1.3, 1.3), scale(0.1, 1.0);
    long samples = 0;
    for (long move = 0; move < moves; ++move) {
        const double size = scale(random);
        double duration = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
            end[j] = size * goal(random);
            // the velocity of the polynomial is 1.875 times its mean at most
            const double rate = std::isinf(limit[j]) ? 1.0 : limit[j];
            duration = std::max(duration, 1.875 * std::fabs(end[j] - begin[j]) / rate);
        }
        const long steps = static_cast<long>(duration / period) + 3;
        for (long k = 1; k <= steps + rest; ++k) {
            const double u = std::min(static_cast<double>(k) / static_cast<double>(steps), 1.0);
            const double share = u * u * u * (10.0 + u * (6.0 * u - 15.0));
            for (std::size_t j = 0; j < n; ++j) {
                sample[j] = k < steps ? begin[j] + share * (end[j] - begin[j]) : end[j];
            }
            std::copy(shaper.position(), shaper.position() + n, before.begin());
            const int code = shaper.step(sample.data());
            for (std::size_t j = 0; j < n; ++j) {
                const double here = shaper.position()[j];
                const bool is_slow =
                    std::fabs(here - before[j]) <= limit[j] * period * (1.0 + 1e-9);
                const bool is_between = here >= std::min(begin[j], end[j]) - 1e-12 &&
                                        here <= std::max(begin[j], end[j]) + 1e-12;
                const bool has_arrived = k < steps + rest || here == end[j];
                if (code != FLEX_SHAPER_OK || !is_slow || !is_between || !has_arrived) {
                    std::printf("move %ld, sample %ld, joint %zu: code %d, %.17g after %.17g\n", move,
                                k, j, code, here, before[j]);
                    return 1;
                }
            }
        }
        samples += steps + rest;
        std::swap(begin, end);
    }
    std::printf("%ld samples\n", samples);
}
