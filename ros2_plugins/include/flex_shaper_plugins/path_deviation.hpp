// Largest distance between a shaped path and the planned one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace flex_shaper_plugins {

using Point = std::array<double, 3>;  // place of a link                                    [m]

/// Square of the distance of a point from the edge between two others.
inline double squared_distance(const Point &point, const Point &begin, const Point &end) {
    double along = 0.0, square = 0.0;
    for (std::size_t k = 0; k < 3; ++k) {
        along += (point[k] - begin[k]) * (end[k] - begin[k]);
        square += (end[k] - begin[k]) * (end[k] - begin[k]);
    }
    const double share = square > 0.0 ? std::clamp(along / square, 0.0, 1.0) : 0.0;
    double sum = 0.0;
    for (std::size_t k = 0; k < 3; ++k) {
        const double offset = point[k] - begin[k] - share * (end[k] - begin[k]);
        sum += offset * offset;
    }
    return sum;
}

/**
 * Largest distance between two curves, from the points of either one [m].
 *
 * Both have the same sample times; `planned` rests at its last point after its end. A point is
 * compared with that part of the other curve that is at most `window` samples away: the shaper
 * delays, so `shaped` is compared with earlier points, and `planned` with later ones.
 */
inline double path_deviation(const std::vector<Point> &shaped, std::vector<Point> planned,
                             std::size_t window) {
    if (shaped.empty() || planned.empty()) {
        return 0.0;
    }
    planned.resize(shaped.size(), planned.back());
    const std::size_t count = shaped.size();
    double largest = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        double from_shaped = squared_distance(shaped[i], planned[i], planned[i]);
        double from_planned = squared_distance(planned[i], shaped[i], shaped[i]);
        for (std::size_t k = i; k > 0 && i - k <= window; --k) {
            from_shaped =
                std::min(from_shaped, squared_distance(shaped[i], planned[k - 1], planned[k]));
        }
        for (std::size_t k = i; k + 1 < count && k - i <= window; ++k) {
            from_planned =
                std::min(from_planned, squared_distance(planned[i], shaped[k], shaped[k + 1]));
        }
        largest = std::max({largest, from_shaped, from_planned});
    }
    return std::sqrt(largest);
}

}  // namespace flex_shaper_plugins
