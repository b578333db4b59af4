// Shapes a planned trajectory: resampled, delayed, and extended until it rests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "flex_shaper_plugins/shaper_unit.hpp"

namespace flex_shaper_plugins {

/// Waypoints with their times; rows of positions and velocities have one number per joint.
struct Waypoints {
    std::vector<double> times;                       // from the start                      [s]
    std::vector<std::vector<double>> positions;      // [rad, m]
    std::vector<std::vector<double>> velocities;     // [rad/s, m/s]; empty: lines between points
};

/// Evenly spaced samples of a trajectory, the first one at its start.
struct Samples {
    double period = 0.0;                             // [s]
    std::vector<std::vector<double>> positions;      // [rad, m]
    std::vector<std::vector<double>> velocities;     // [rad/s, m/s]
};

/// Throw SetUpError unless times increase from 0 and rows are complete and finite.
inline void check(const Waypoints &waypoints, std::size_t joints) {
    const std::size_t count = waypoints.times.size();
    const auto is_good = [&](const std::vector<double> &row) {
        return row.size() == joints &&
               std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); });
    };
    if (count < 2 || waypoints.positions.size() != count ||
        !std::all_of(waypoints.positions.begin(), waypoints.positions.end(), is_good) ||
        !std::all_of(waypoints.velocities.begin(), waypoints.velocities.end(), is_good) ||
        !(waypoints.velocities.empty() || waypoints.velocities.size() == count)) {
        throw SetUpError("the trajectory has fewer than two points, or points that are not finite");
    }
    for (std::size_t i = 1; i < count; ++i) {
        if (!(waypoints.times[i] > waypoints.times[i - 1])) {
            throw SetUpError("the times of the trajectory do not increase: run "
                             "AddTimeOptimalParameterization before AddInputShaping");
        }
    }
}

/// Positions (joints,) at a time in a segment, cubic if there are velocities.
inline void interpolate(const Waypoints &waypoints, std::size_t segment, double time,
                        std::vector<double> &out) {
    const double h = waypoints.times[segment + 1] - waypoints.times[segment];
    const double u = std::clamp((time - waypoints.times[segment]) / h, 0.0, 1.0);
    const std::vector<double> &a = waypoints.positions[segment];
    const std::vector<double> &b = waypoints.positions[segment + 1];
    for (std::size_t j = 0; j < out.size(); ++j) {
        if (waypoints.velocities.empty()) {
            out[j] = a[j] + u * (b[j] - a[j]);
            continue;
        }
        const double va = h * waypoints.velocities[segment][j];
        const double vb = h * waypoints.velocities[segment + 1][j];
        const double rise = b[j] - a[j];
        out[j] = a[j] + u * (va + u * (3.0 * rise - 2.0 * va - vb + u * (va + vb - 2.0 * rise)));
    }
}

/// Positions every period; the last row is exactly the last waypoint, at most a period late.
inline std::vector<std::vector<double>> resampled(const Waypoints &waypoints, double period) {
    const double start = waypoints.times.front(), end = waypoints.times.back();
    const auto last = static_cast<std::size_t>(std::ceil((end - start) / period - 1e-9));
    std::vector<std::vector<double>> rows;
    rows.reserve(last + 1);
    std::vector<double> row(waypoints.positions.front().size());
    std::size_t segment = 0;
    for (std::size_t i = 0; i < last; ++i) {
        const double time = start + static_cast<double>(i) * period;
        while (segment + 2 < waypoints.times.size() && waypoints.times[segment + 1] <= time) {
            ++segment;
        }
        interpolate(waypoints, segment, time, row);
        rows.push_back(row);
    }
    rows.push_back(waypoints.positions.back());
    return rows;
}

/**
 * Shape positions at the period of a unit until they rest at the last one.
 *
 * Throws SetUpError if a sample is refused. Velocities are central differences, 0 at both ends.
 */
inline Samples shaped(ShaperUnit &unit, const std::vector<std::vector<double>> &planned,
                      const double *start_velocity = nullptr) {
    const auto expect = [&](Code code, std::size_t row) {
        if (code != FLEX_SHAPER_OK) {
            char time[32];
            std::snprintf(time, sizeof time, "%.3f", static_cast<double>(row) * unit.period());
            throw SetUpError(std::string("the trajectory is refused at ") + time +
                             " s: " + flex_shaper::message(code));
        }
    };
    expect(unit.reset(planned.front().data(), start_velocity), 0);
    Samples samples;
    samples.period = unit.period();
    samples.positions = {planned.front()};
    // velocity limits may delay the end, by less than the duration of the unlimited motion
    const std::size_t most =
        4 * (planned.size() + static_cast<std::size_t>(unit.duration() / unit.period()) + 16);
    for (std::size_t i = 1; i < planned.size() || (!unit.is_settled() && i < most); ++i) {
        const std::size_t row = std::min(i, planned.size() - 1);
        expect(unit.step(planned[row].data()), row);
        samples.positions.emplace_back(unit.position(), unit.position() + unit.joints());
    }
    if (!unit.is_settled()) {
        throw SetUpError("the shaped trajectory does not come to rest: plan a slower one");
    }
    const std::size_t count = samples.positions.size();
    samples.velocities.assign(count, std::vector<double>(unit.joints(), 0.0));
    for (std::size_t i = 1; i + 1 < count; ++i) {
        for (std::size_t j = 0; j < unit.joints(); ++j) {
            samples.velocities[i][j] =
                (samples.positions[i + 1][j] - samples.positions[i - 1][j]) / (2.0 * samples.period);
        }
    }
    return samples;
}

}  // namespace flex_shaper_plugins
