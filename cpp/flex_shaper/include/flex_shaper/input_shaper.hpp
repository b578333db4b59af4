// Input shaper for the set points of an arm, sample by sample, in real time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <vector>

#include "flex_shaper/delays.hpp"
#include "flex_shaper/tables.h"
#include "flex_shaper/velocity_limiter.hpp"

namespace flex_shaper {

using Code = flex_shaper_code;

constexpr double max_set_point = 1e9;      // larger set points are refused       [rad, m]
constexpr double rest_velocity = 1e-3;     // below it a joint counts as at rest  [rad/s, m/s]
constexpr double fade_durations = 1.5;     // ratio of a fade to the longer design duration
constexpr double min_fade = 0.1;           // minimum duration of a fade          [s]
constexpr double period_tolerance = 1e-6;  // relative

/// Return the meaning of a code, for the log.
inline const char *message(Code code) {
    switch (code) {
    case FLEX_SHAPER_OK: return "the set point is shaped";
    case FLEX_SHAPER_NOT_RESET: return "no reset yet: reset the shaper to the position of the arm";
    case FLEX_SHAPER_NOT_FINITE: return "a set point is not finite: the last good one is held";
    case FLEX_SHAPER_JUMP:
        return "a set point jumps: the last good one is held until the set points return to it, or "
               "until a reset";
    case FLEX_SHAPER_WRONG_PERIOD:
        return "the tables are for another period: write them again with --period";
    case FLEX_SHAPER_WRONG_ROBOT: return "the tables are of another robot";
    case FLEX_SHAPER_WRONG_JOINTS:
        return "the joints, or their order, are not those of the tables";
    case FLEX_SHAPER_IN_MOTION: return "the arm moves: reset the shaper when it rests";
    case FLEX_SHAPER_CHANGING: return "the last change of the design is not complete: repeat it";
    }
    return "unknown code";
}

/**
 * Shapes set points by one of several designs of the same joints.
 *
 * The constructor allocates; all other functions neither allocate nor throw. The tables must
 * outlive the shaper: they are those of `flexsim shape --code c`.
 */
class InputShaper {
public:
    /// All designs that `change` may select, of one robot and period; the first one is used.
    InputShaper(std::initializer_list<const flex_shaper_tables *> designs) {
        const flex_shaper_tables *limits = nullptr;
        designs_.reserve(designs.size());
        for (const flex_shaper_tables *tables : designs) {
            designs_.emplace_back(*tables);
            if (tables->limiter_samples > 0 &&
                (limits == nullptr || tables->duration > limits->duration)) {
                limits = tables;
            }
        }
        if (designs_.empty()) {
            return;
        }
        const flex_shaper_tables &first = designs_[0].tables();
        joints_ = first.joints;
        period_ = first.period;
        max_change_ = first.max_change;
        fault_ = check(period_, first.joint_names, joints_, first.robot);
        if (fault_ == FLEX_SHAPER_OK && limits != nullptr) {
            limiter_.emplace(*limits);
        }
        const auto n = static_cast<std::size_t>(joints_);
        accepted_.resize(n);
        output_.resize(n);
        velocity_.resize(n);
        mixture_.resize(n);
    }

    explicit InputShaper(const flex_shaper_tables &tables) : InputShaper({&tables}) {}

    /// Whether the tables fit a loop: its period [s], the names of its joints, its robot or null.
    Code check(double period, const char *const *joint_names, std::int32_t joints,
               const char *robot = nullptr) const noexcept {
        if (designs_.empty()) {
            return FLEX_SHAPER_WRONG_ROBOT;
        }
        for (const Delays &design : designs_) {
            const flex_shaper_tables &tables = design.tables();
            if (!(std::fabs(period - tables.period) <= period_tolerance * tables.period)) {
                return FLEX_SHAPER_WRONG_PERIOD;
            }
            if (robot != nullptr && std::strcmp(robot, tables.robot) != 0) {
                return FLEX_SHAPER_WRONG_ROBOT;
            }
            if (joints != tables.joints) {
                return FLEX_SHAPER_WRONG_JOINTS;
            }
            for (std::int32_t j = 0; j < joints; ++j) {
                if (std::strcmp(joint_names[j], tables.joint_names[j]) != 0) {
                    return FLEX_SHAPER_WRONG_JOINTS;
                }
            }
        }
        return FLEX_SHAPER_OK;
    }

    /**
     * Begin with a constant history at the position of the joints (joints,) [rad, m].
     *
     * If a velocity (joints,) is given and the joints move, the reset is refused, and the last
     * good set point is held.
     */
    Code reset(const double *position, const double *velocity = nullptr) noexcept {
        if (fault_ != FLEX_SHAPER_OK) {
            return fault_;
        }
        for (std::int32_t j = 0; j < joints_; ++j) {
            if (!(std::fabs(position[j]) < max_set_point)) {
                return FLEX_SHAPER_NOT_FINITE;
            }
            if (velocity != nullptr && !(std::fabs(velocity[j]) <= rest_velocity)) {
                return FLEX_SHAPER_IN_MOTION;
            }
        }
        is_reset_ = true;
        previous_ = active_;
        designs_[active_].reset(position);
        if (limiter_) {
            limiter_->reset(position);
        }
        std::copy(position, position + joints_, accepted_.data());
        std::copy(position, position + joints_, output_.data());
        std::fill(velocity_.begin(), velocity_.end(), 0.0);
        return FLEX_SHAPER_OK;
    }

    /// Shape a set point (joints,) [rad, m]; a bad one is replaced by the last good one.
    Code step(const double *set_point) noexcept {
        if (!is_reset_) {
            return FLEX_SHAPER_NOT_RESET;
        }
        const Code code = accept(set_point);
        designs_[active_].step(accepted_.data());
        const double *shaped = designs_[active_].output();
        if (is_changing()) {
            shaped = faded(shaped);
        }
        if (limiter_) {
            limiter_->step(shaped);
            shaped = limiter_->output();
        }
        for (std::int32_t j = 0; j < joints_; ++j) {
            const auto k = static_cast<std::size_t>(j);
            velocity_[k] = (shaped[j] - output_[k]) / period_;
            output_[k] = shaped[j];
        }
        return code;
    }

    /**
     * Change to a design by its row in the constructor, without a jump.
     *
     * At rest the change is immediate. In motion the new design begins to receive set points, and
     * then replaces the old one gradually; a second change before the end of this is refused.
     */
    Code change(std::size_t design) noexcept {
        if (design >= designs_.size()) {
            return FLEX_SHAPER_WRONG_ROBOT;
        }
        if (is_changing()) {
            return FLEX_SHAPER_CHANGING;
        }
        if (design == active_ || !is_reset_) {
            active_ = previous_ = design;
            return is_reset_ ? FLEX_SHAPER_OK : FLEX_SHAPER_NOT_RESET;
        }
        const bool moves = !is_settled();
        designs_[design].reset(accepted_.data());
        previous_ = moves ? active_ : design;
        active_ = design;
        const double added = designs_[active_].tables().duration;
        const double longer = std::max(added, designs_[previous_].tables().duration);
        fade_ = std::max(min_fade, fade_durations * longer);
        age_ = -added / fade_;
        return FLEX_SHAPER_OK;
    }

    const double *position() const noexcept { return output_.data(); }  ///< shaped [rad, m]
    const double *velocity() const noexcept { return velocity_.data(); }  ///< [rad/s, m/s]
    const double *held() const noexcept { return accepted_.data(); }  ///< last good set point
    std::int32_t joints() const noexcept { return joints_; }
    bool is_changing() const noexcept { return previous_ != active_; }

    /// Whether the shaped set points rest at the last good one.
    bool is_settled() const noexcept {
        return output_ == accepted_ &&
               std::all_of(velocity_.begin(), velocity_.end(), [](double v) { return v == 0.0; });
    }

private:
    /// Accept a set point, or hold the last good one.
    Code accept(const double *set_point) noexcept {
        for (std::int32_t j = 0; j < joints_; ++j) {
            if (!(std::fabs(set_point[j]) < max_set_point)) {
                return FLEX_SHAPER_NOT_FINITE;
            }
        }
        for (std::int32_t j = 0; j < joints_; ++j) {
            if (std::fabs(set_point[j] - accepted_[static_cast<std::size_t>(j)]) > max_change_[j]) {
                return FLEX_SHAPER_JUMP;
            }
        }
        std::copy(set_point, set_point + joints_, accepted_.data());
        return FLEX_SHAPER_OK;
    }

    /// Mixture of the previous and the new design, (S11) of the theory.
    const double *faded(const double *shaped) noexcept {
        designs_[previous_].step(accepted_.data());
        const double *old = designs_[previous_].output();
        age_ += period_ / fade_;
        const double u = std::min(std::max(age_, 0.0), 1.0);
        const double weight = 1.0 + u * u * u * (-10.0 + u * (15.0 - 6.0 * u));
        for (std::int32_t j = 0; j < joints_; ++j) {
            mixture_[static_cast<std::size_t>(j)] = shaped[j] + weight * (old[j] - shaped[j]);
        }
        if (age_ >= 1.0) {
            previous_ = active_;
        }
        return mixture_.data();
    }

    std::vector<Delays> designs_;
    std::optional<VelocityLimiter> limiter_;
    std::vector<double> accepted_, output_, velocity_, mixture_;
    const double *max_change_ = nullptr;
    std::size_t active_ = 0, previous_ = 0;
    std::int32_t joints_ = 0;
    double period_ = 0.0, fade_ = 1.0, age_ = 1.0;
    bool is_reset_ = false;
    Code fault_ = FLEX_SHAPER_WRONG_ROBOT;  // of the designs; no reset succeeds with one
};

}  // namespace flex_shaper
