// A shaper of the core together with its tables, checked for one control loop.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <flex_shaper/input_shaper.hpp>

#include "flex_shaper_plugins/shaper_tables.hpp"

namespace flex_shaper_plugins {

using flex_shaper::Code;

/// What a loop is: its joints in the order of its set points, its period, and its robot.
struct LoopDescription {
    std::vector<std::string> joints;
    double period = 0.0;          // of the set points                                     [s]
    std::string robot;            // its name in the tables; empty: not checked
    double rest_velocity = 0.01;  // above it a joint counts as moving at a reset  [rad/s, m/s]
};

/**
 * Shapes the set points of one loop and holds the last good one.
 *
 * The constructor throws SetUpError if the tables do not fit the loop; all other functions neither
 * allocate nor throw.
 */
class ShaperUnit {
public:
    ShaperUnit(std::shared_ptr<const ShaperTables> tables, const LoopDescription &loop)
        : tables_(std::move(tables)), shaper_(tables_->tables()),
          rest_velocity_(loop.rest_velocity) {
        std::vector<const char *> names;
        for (const std::string &joint : loop.joints) {
            names.push_back(joint.c_str());
        }
        const char *robot = loop.robot.empty() ? nullptr : loop.robot.c_str();
        const Code code = shaper_.check(loop.period, names.data(),
                                        static_cast<std::int32_t>(names.size()), robot);
        if (code != FLEX_SHAPER_OK) {
            throw SetUpError(tables_->path() + ": " + flex_shaper::message(code) +
                             details(code, loop));
        }
    }

    /// Begin at rest at a position (joints,); velocity (joints,) may be null if it is unknown.
    Code reset(const double *position, const double *velocity = nullptr) noexcept {
        for (std::int32_t j = 0; velocity != nullptr && j < shaper_.joints(); ++j) {
            if (!(std::fabs(velocity[j]) <= rest_velocity_)) {
                return FLEX_SHAPER_IN_MOTION;
            }
        }
        return shaper_.reset(position);
    }

    /// Shape a set point (joints,) [rad, m]; a bad one is replaced by the last good one.
    Code step(const double *set_point) noexcept { return shaper_.step(set_point); }

    const double *position() const noexcept { return shaper_.position(); }
    const double *velocity() const noexcept { return shaper_.velocity(); }
    const double *held() const noexcept { return shaper_.held(); }  ///< last good set point
    bool is_settled() const noexcept { return shaper_.is_settled(); }
    std::size_t joints() const noexcept { return static_cast<std::size_t>(shaper_.joints()); }
    double period() const noexcept { return tables_->tables().period; }
    double duration() const noexcept { return tables_->tables().duration; }

private:
    std::string details(Code code, const LoopDescription &loop) const {
        const flex_shaper_tables &t = tables_->tables();
        if (code == FLEX_SHAPER_WRONG_PERIOD) {
            return " (tables: " + text(t.period) + " s, loop: " + text(loop.period) + " s)";
        }
        if (code == FLEX_SHAPER_WRONG_ROBOT) {
            return std::string(" (tables: \"") + t.robot + "\", loop: \"" + loop.robot + "\")";
        }
        return " (tables: " + listed(tables_->joints()) + "; loop: " + listed(loop.joints) + ")";
    }

    static std::string text(double value) {
        char line[32];
        std::snprintf(line, sizeof line, "%.9g", value);
        return line;
    }

    static std::string listed(const std::vector<std::string> &names) {
        std::string line;
        for (const std::string &name : names) {
            line += (line.empty() ? "" : ", ") + name;
        }
        return line.empty() ? "none" : line;
    }

    std::shared_ptr<const ShaperTables> tables_;
    flex_shaper::InputShaper shaper_;
    double rest_velocity_;
};

}  // namespace flex_shaper_plugins
