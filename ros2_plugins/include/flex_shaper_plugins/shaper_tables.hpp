// Tables of a shaper from a file of `flexsim shape --code json`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include <flex_shaper/tables.h>
#include <nlohmann/json.hpp>

namespace flex_shaper_plugins {

/// A file or a setting cannot be used; `what()` is one line that says what to do.
class SetUpError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Checked constants of a shaper; the core keeps pointers to them.
class ShaperTables {
public:
    /**
     * Read the tables for joints in the order of the set points.
     *
     * Tables of a recording name no joints: they are repeated for all of these joints. Without
     * `joints`, the joints are those of the tables.
     */
    static std::shared_ptr<const ShaperTables> read(const std::string &path,
                                                    const std::vector<std::string> &joints = {}) {
        std::ifstream file(path);
        if (!file) {
            throw SetUpError(path + ": cannot be read. Set the parameter to a file of flexsim "
                                    "shape --code json");
        }
        nlohmann::json tree = nlohmann::json::parse(file, nullptr, false);
        const std::string kind = tree.is_object() ? tree.value("kind", nlohmann::json()).dump() : "";
        if (kind == "\"flex_robot_sim shaper 1\"") {
            throw SetUpError(path + ": is a design without a period. Write its tables: flexsim "
                                    "shape --design " + path +
                             " --code json --period 0.001 --output tables.json");
        }
        if (kind != "\"flex_robot_sim shaper tables 1\"") {
            throw SetUpError(path + ": has no tables of a shaper. Write them by flexsim shape "
                                    "--code json --output FILE");
        }
        try {
            return std::shared_ptr<const ShaperTables>(new ShaperTables(tree, path, joints));
        } catch (const nlohmann::json::exception &) {
            throw SetUpError(damaged(path));
        }
    }

    ShaperTables(const ShaperTables &) = delete;
    ShaperTables &operator=(const ShaperTables &) = delete;

    const flex_shaper_tables &tables() const { return tables_; }
    const std::vector<std::string> &joints() const { return joints_; }
    const std::string &path() const { return path_; }

private:
    using Json = nlohmann::json;
    static constexpr double max_size = 1 << 24;  // of a table

    ShaperTables(const Json &tree, const std::string &path, const std::vector<std::string> &joints)
        : path_(path), shaper_(tree.at("shaper")), robot_(tree.at("robot")),
          joints_(tree.at("joint_names").get<std::vector<std::string>>()) {
        flex_shaper_tables &t = tables_;
        t.joints = size(tree, "joints");
        t.samples = size(tree, "samples");
        t.taps = size(tree, "taps");
        t.stages = size(tree, "stages");
        t.impulses = size(tree, "impulses");
        t.axes = size(tree, "axes");
        t.rows = size(tree, "rows");
        t.limiter_samples = size(tree, "limiter_samples");
        t.period = number(tree.at("period"));
        t.duration = number(tree.at("duration"));
        t.catch_up = number(tree.at("catch_up"));
        const auto n = static_cast<std::size_t>(t.joints), m = static_cast<std::size_t>(t.stages);
        const auto axes = static_cast<std::size_t>(t.axes);
        max_change_ = table<double>(tree, "max_change", n);
        delay_ = table<std::int32_t>(tree, "delay", static_cast<std::size_t>(t.taps));
        weight_ = table<double>(tree, "weight", static_cast<std::size_t>(t.taps));
        cycles_ = table<double>(tree, "cycles", m * static_cast<std::size_t>(t.impulses));
        amplitude_ = table<double>(tree, "amplitude", cycles_.size());
        axis_joint_ = table<std::int32_t>(tree, "axis_joint", axes);
        axis_origin_ = table<double>(tree, "axis_origin", axes);
        axis_unit_ = table<double>(tree, "axis_unit", axes);
        axis_size_ = table<std::int32_t>(tree, "axis_size", axes);
        axis_stride_ = table<std::int32_t>(tree, "axis_stride", axes);
        frequency_ = table<double>(tree, "frequency", m * static_cast<std::size_t>(t.rows));
        max_travel_ = table<double>(tree, "max_travel", n);
        expect(are_consistent());
        if (joints_.empty() && !joints.empty()) {
            repeat_for(joints);
        }
        expect(joints_.size() == static_cast<std::size_t>(t.joints) || joints_.empty());
        set_pointers();
    }

    static std::string damaged(const std::string &path) {
        return path + ": is damaged. Write it again by flexsim shape --code json";
    }

    void expect(bool is_good) const {
        if (!is_good) {
            throw SetUpError(damaged(path_));
        }
    }

    double number(const Json &value) const {
        expect(value.is_number() && std::isfinite(value.get<double>()));
        return value.get<double>();
    }

    std::int32_t size(const Json &tree, const char *name) const {
        const double value = number(tree.at(name));
        expect(value >= 0.0 && value <= max_size && value == std::floor(value));
        return static_cast<std::int32_t>(value);
    }

    /// Numbers of a list, or of a list of lists, row by row.
    template <typename Number>
    std::vector<Number> table(const Json &tree, const char *name, std::size_t count) const {
        std::vector<Number> values;
        const auto add = [&](const Json &value) {
            const double real = number(value);
            const auto converted = static_cast<Number>(std::clamp(real, -1e9, 1e101));
            expect(std::is_same_v<Number, double> || static_cast<double>(converted) == real);
            values.push_back(converted);
        };
        for (const Json &row : tree.at(name)) {
            if (row.is_array()) {
                std::for_each(row.begin(), row.end(), add);
            } else {
                add(row);
            }
        }
        expect(values.size() == count);
        return values;
    }

    /// Whether no index of the core leaves its table.
    bool are_consistent() const {
        const flex_shaper_tables &t = tables_;
        const auto is_positive = [](double value) { return value > 0.0; };
        const auto is_delay = [&](std::int32_t value) { return value >= 0 && value < t.samples - 1; };
        if (t.joints < 1 || t.taps < 1 || t.samples < 2 || t.limiter_samples == 1 ||
            !is_positive(t.period) || t.duration < 0.0 || t.catch_up < 0.0 || t.catch_up > 1.0 ||
            !std::all_of(max_change_.begin(), max_change_.end(), is_positive) ||
            !std::all_of(max_travel_.begin(), max_travel_.end(), is_positive) ||
            !std::all_of(weight_.begin(), weight_.end(), is_positive) ||
            !std::all_of(delay_.begin(), delay_.end(), is_delay)) {
            return false;
        }
        if (t.stages == 0) {
            return t.axes == 0 && t.rows == 0;
        }
        if (t.axes > 8 || !std::all_of(frequency_.begin(), frequency_.end(), is_positive) ||
            !std::all_of(amplitude_.begin(), amplitude_.end(), [](double a) { return a >= 0.0; })) {
            return false;
        }
        double last_row = 0.0;
        for (std::size_t k = 0; k < axis_joint_.size(); ++k) {
            if (axis_joint_[k] < 0 || axis_joint_[k] >= t.joints || axis_size_[k] < 2 ||
                axis_stride_[k] < 1 || !is_positive(axis_unit_[k])) {
                return false;
            }
            last_row += static_cast<double>(axis_size_[k] - 1) * axis_stride_[k];
        }
        return last_row + 1.0 == t.rows && stages_fit();
    }

    /// Whether each stage has an impulse, and the ring buffer holds its longest delay.
    bool stages_fit() const {
        const flex_shaper_tables &t = tables_;
        const auto impulses = static_cast<std::size_t>(t.impulses);
        const auto stages = static_cast<std::size_t>(t.stages);
        for (std::size_t m = 0; m < stages; ++m) {
            double longest = -1.0, slowest = frequency_[m];
            for (std::size_t i = m * impulses; i < (m + 1) * impulses; ++i) {
                if (amplitude_[i] > 0.0) {
                    longest = std::max(longest, cycles_[i]);
                }
                if (cycles_[i] < 0.0) {
                    return false;
                }
            }
            for (std::size_t row = 1; row < static_cast<std::size_t>(t.rows); ++row) {
                slowest = std::min(slowest, frequency_[row * stages + m]);
            }
            if (longest < 0.0 || longest / slowest / t.period > t.samples - 2) {
                return false;
            }
        }
        return true;
    }

    void repeat_for(const std::vector<std::string> &joints) {
        expect(tables_.joints == 1 && tables_.stages == 0);
        joints_ = joints;
        max_change_.assign(joints.size(), max_change_[0]);
        max_travel_.assign(joints.size(), max_travel_[0]);
        tables_.joints = static_cast<std::int32_t>(joints.size());
    }

    void set_pointers() {
        for (const std::string &joint : joints_) {
            names_.push_back(joint.c_str());
        }
        flex_shaper_tables &t = tables_;
        t.shaper = shaper_.c_str();
        t.robot = robot_.c_str();
        t.joint_names = names_.data();
        t.max_change = max_change_.data();
        t.delay = delay_.data();
        t.weight = weight_.data();
        t.cycles = cycles_.data();
        t.amplitude = amplitude_.data();
        t.axis_joint = axis_joint_.data();
        t.axis_origin = axis_origin_.data();
        t.axis_unit = axis_unit_.data();
        t.axis_size = axis_size_.data();
        t.axis_stride = axis_stride_.data();
        t.frequency = frequency_.data();
        t.max_travel = max_travel_.data();
    }

    std::string path_, shaper_, robot_;
    std::vector<std::string> joints_;
    std::vector<const char *> names_;
    std::vector<std::int32_t> delay_, axis_joint_, axis_size_, axis_stride_;
    std::vector<double> max_change_, weight_, cycles_, amplitude_, axis_origin_, axis_unit_;
    std::vector<double> frequency_, max_travel_;
    flex_shaper_tables tables_{};
};

}  // namespace flex_shaper_plugins
