// Delays all joints by the same time where one would exceed its velocity limit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "flex_shaper/ring.hpp"
#include "flex_shaper/tables.h"

namespace flex_shaper {

/// Follows the path of the received samples, within the limits.
class VelocityLimiter {
public:
    explicit VelocityLimiter(const flex_shaper_tables &tables)
        : joints_(tables.joints), max_travel_(tables.max_travel), catch_up_(tables.catch_up),
          track_(tables.limiter_samples, tables.joints), output_(size()), begin_(size()),
          end_(size()) {}

    /// Begin with a constant history at a position (joints,).
    void reset(const double *position) {
        row_ = 0;
        ticks_ = lag_ = 0.0;
        std::copy(position, position + joints_, track_[0]);
        std::copy(position, position + joints_, output_.data());
    }

    /// Receive a sample (joints,) [rad, m]; the result is `output`.
    void step(const double *sample) {
        row_ = track_.after(row_);
        ticks_ += 1.0;
        std::copy(sample, sample + joints_, track_[row_]);
        double place = ticks_ - 1.0 - lag_;
        const double goal_by_rate = std::min(ticks_, place + 1.0 + catch_up_ * lag_);
        place = std::max(place, std::max(ticks_ - (track_.rows() - 1), 0.0));
        const double goal = std::max(goal_by_rate, place);
        double *begin = begin_.data(), *end = end_.data(), *output = output_.data();
        double next = sample_at(place, begin);
        double share = 1.0;
        for (std::int32_t j = 0; j < joints_; ++j) {
            const double distance = std::fabs(begin[j] - output[j]);
            if (distance > max_travel_[j]) {
                share = std::min(share, max_travel_[j] / distance);
            }
        }
        if (share < 1.0) {
            // straight to the oldest sample: older ones were overwritten before they were reached
            for (std::int32_t j = 0; j < joints_; ++j) {
                output[j] += share * (begin[j] - output[j]);
            }
            lag_ = ticks_ - place;
            return;
        }
        // along the samples, until the goal or the limit of a joint
        while (place < goal && share == 1.0) {
            const double target = std::min(next, goal);
            next = sample_at(target, end);
            share = share_within_limits(begin, end);
            if (share == 1.0) {
                place = target;
                std::swap(begin, end);
            } else {
                place += share * (target - place);
                for (std::int32_t j = 0; j < joints_; ++j) {
                    begin[j] += share * (end[j] - begin[j]);
                }
            }
        }
        std::copy(begin, begin + joints_, output);
        lag_ = ticks_ - place;
    }

    const double *output() const { return output_.data(); }
    double lag() const { return lag_; }

private:
    std::size_t size() const { return static_cast<std::size_t>(joints_); }

    /// Interpolate the samples at a place in ticks; return the next whole tick.
    double sample_at(double place, double *out) const {
        const double back = std::ceil(ticks_ - place), tick = ticks_ - back;
        const double share = place - tick;
        const std::int32_t here = track_.older(row_, static_cast<std::int32_t>(back));
        const double *a = track_[here], *b = track_[track_.after(here)];
        for (std::int32_t j = 0; j < joints_; ++j) {
            out[j] = share > 0.0 ? a[j] + share * (b[j] - a[j]) : a[j];
        }
        return tick + 1.0;
    }

    /// Share of the way from begin to end (joints,) in which all joints keep their limits.
    double share_within_limits(const double *begin, const double *end) const {
        double share = 1.0;
        for (std::int32_t j = 0; j < joints_; ++j) {
            const double change = end[j] - begin[j];
            const double done = begin[j] - output_[static_cast<std::size_t>(j)];
            if (change > 0.0) {
                share = std::min(share, (max_travel_[j] - done) / change);
            } else if (change < 0.0) {
                share = std::min(share, (max_travel_[j] + done) / -change);
            }
        }
        return std::max(share, 0.0);
    }

    std::int32_t joints_, row_ = 0;
    const double *max_travel_;
    double catch_up_, ticks_ = 0.0, lag_ = 0.0;
    Ring track_;
    std::vector<double> output_, begin_, end_;
};

}  // namespace flex_shaper
