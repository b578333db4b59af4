// Shapes the velocities of MoveIt Servo, as set points of the joints.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "flex_shaper_plugins/shaper_unit.hpp"

namespace flex_shaper_plugins {

/**
 * Integrates velocities to a reference, and shapes that.
 *
 * Servo adds each increment to its last output, which is shaped and therefore late. A filter of
 * these positions would slow the motion down. The velocities are those of the command.
 */
class ServoShaper {
public:
    // Servo sends nothing more and resets its filter when all velocities are below 1e-4 rad/s
    static constexpr double min_velocity = 2e-4;  // until the shaped motion rests  [rad/s, m/s]

    explicit ServoShaper(ShaperUnit unit)
        : unit_(std::move(unit)), reference_(unit_.joints()), output_(unit_.joints()),
          velocity_(unit_.joints()), acceleration_(unit_.joints()),
          lower_(unit_.joints(), -std::numeric_limits<double>::infinity()),
          upper_(unit_.joints(), std::numeric_limits<double>::infinity()) {}

    /// The reference of a joint stays within these positions [rad, m], and so does the output.
    void limit(std::size_t joint, double lower, double upper) {
        lower_[joint] = lower;
        upper_[joint] = upper;
    }

    /// Begin at a position (joints,); if the joints move, hold that position until a reset at rest.
    Code reset(const double *position, const double *velocity) noexcept {
        if (!std::all_of(position, position + unit_.joints(),
                         [](double x) { return std::isfinite(x); })) {
            return FLEX_SHAPER_NOT_FINITE;
        }
        std::copy(position, position + unit_.joints(), reference_.begin());
        output_ = reference_;
        std::fill(velocity_.begin(), velocity_.end(), 0.0);
        std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
        state_ = unit_.reset(position, velocity);
        return state_;
    }

    /// Shape the velocities (joints,) of a command [rad/s, m/s]; the results are the arrays below.
    Code step(const double *velocity) noexcept {
        if (state_ != FLEX_SHAPER_OK) {
            return state_;
        }
        for (std::size_t j = 0; j < unit_.joints(); ++j) {
            const double next = reference_[j] + velocity[j] * unit_.period();
            // a joint beyond its limit may return, and NaN reaches the check of the core
            reference_[j] = std::isnan(next) ? next : within_limits(j, next);
        }
        const Code code = unit_.step(reference_.data());
        if (code != FLEX_SHAPER_OK) {
            std::copy(unit_.held(), unit_.held() + unit_.joints(), reference_.begin());
        }
        const bool is_settled = unit_.is_settled();
        for (std::size_t j = 0; j < unit_.joints(); ++j) {
            double rate = unit_.velocity()[j];
            const double left = unit_.held()[j] - unit_.position()[j];
            if (!is_settled && std::fabs(rate) < min_velocity && left != 0.0) {
                rate = std::copysign(min_velocity, left);
            }
            acceleration_[j] = (rate - velocity_[j]) / unit_.period();
            velocity_[j] = rate;
            output_[j] = unit_.position()[j];
        }
        return code;
    }

    const double *position() const noexcept { return output_.data(); }
    const double *velocity() const noexcept { return velocity_.data(); }
    const double *acceleration() const noexcept { return acceleration_.data(); }
    std::size_t joints() const noexcept { return unit_.joints(); }

private:
    double within_limits(std::size_t j, double next) const noexcept {
        const double low = std::min(lower_[j], reference_[j]);
        const double high = std::max(upper_[j], reference_[j]);
        return std::min(std::max(next, low), high);
    }

    ShaperUnit unit_;
    std::vector<double> reference_, output_, velocity_, acceleration_, lower_, upper_;
    Code state_ = FLEX_SHAPER_NOT_RESET;
};

}  // namespace flex_shaper_plugins
