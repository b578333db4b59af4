#include "flex_shaper_plugins/shaper_tables.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

namespace flex_shaper_plugins {

using Json = nlohmann::json;

namespace {

constexpr double max_size = 1 << 24;  // of a table
constexpr int max_axes = 8;           // of the table of poses

bool is_positive(double value) { return value > 0.0; }

/// Whether each stage has an impulse, and the ring buffer holds its longest delay.
bool stages_fit(const flex_shaper_tables &t, const TableArrays &a) {
    const auto impulses = static_cast<std::size_t>(t.impulses);
    const auto stages = static_cast<std::size_t>(t.stages);
    for (std::size_t m = 0; m < stages; ++m) {
        double longest = -1.0, slowest = std::numeric_limits<double>::infinity();
        for (std::size_t i = m * impulses; i < (m + 1) * impulses; ++i) {
            if (a.cycles[i] < 0.0 || a.amplitude[i] < 0.0) {
                return false;
            }
            if (a.amplitude[i] > 0.0) {
                longest = std::max(longest, a.cycles[i]);
            }
        }
        for (std::size_t i = m; i < a.frequency.size(); i += stages) {
            slowest = std::min(slowest, a.frequency[i]);
        }
        if (longest < 0.0 || !(longest / slowest / t.period <= t.samples - 2)) {
            return false;
        }
    }
    return true;
}

/// Whether the axes of poses lead to all rows of the table, and to no others.
bool poses_fit(const flex_shaper_tables &t, const TableArrays &a) {
    if (t.stages == 0) {
        return t.axes == 0 && t.rows == 0;
    }
    double last_row = 0.0;
    for (std::size_t k = 0; k < a.axis_joint.size(); ++k) {
        if (a.axis_joint[k] < 0 || a.axis_joint[k] >= t.joints || a.axis_size[k] < 2 ||
            a.axis_stride[k] < 1 || !is_positive(a.axis_unit[k])) {
            return false;
        }
        last_row += static_cast<double>(a.axis_size[k] - 1) * a.axis_stride[k];
    }
    return t.axes <= max_axes && last_row + 1.0 == t.rows &&
           std::all_of(a.frequency.begin(), a.frequency.end(), is_positive);
}

/// Whether no index of the core leaves its table.
bool are_consistent(const flex_shaper_tables &t, const TableArrays &a) {
    const auto is_delay = [&](std::int32_t value) { return value >= 0 && value < t.samples - 1; };
    return t.joints >= 1 && t.taps >= 1 && t.samples >= 2 && t.limiter_samples != 1 &&
           is_positive(t.period) && t.duration >= 0.0 && t.catch_up >= 0.0 && t.catch_up <= 1.0 &&
           std::all_of(a.max_change.begin(), a.max_change.end(), is_positive) &&
           std::all_of(a.max_travel.begin(), a.max_travel.end(), is_positive) &&
           std::all_of(a.weight.begin(), a.weight.end(), is_positive) &&
           std::all_of(a.delay.begin(), a.delay.end(), is_delay) && poses_fit(t, a) &&
           stages_fit(t, a);
}

}  // namespace

/// Fills ShaperTables from JSON; throws SetUpError or an exception of nlohmann_json.
class ShaperTables::Reader {
public:
    Reader(const Json &tree, const std::string &path) : tree_(tree), path_(path) {}

    std::shared_ptr<const ShaperTables> read(const std::vector<std::string> &joints) const {
        std::shared_ptr<ShaperTables> all(new ShaperTables);
        all->path_ = path_;
        all->shaper_ = tree_.at("shaper").get<std::string>();
        all->robot_ = tree_.at("robot").get<std::string>();
        all->joints_ = tree_.at("joint_names").get<std::vector<std::string>>();
        read_numbers(all->tables_);
        read_arrays(all->tables_, all->arrays_);
        expect(are_consistent(all->tables_, all->arrays_));
        if (all->joints_.empty()) {
            repeat(*all, joints);
        } else {
            expect(all->joints_.size() == static_cast<std::size_t>(all->tables_.joints));
        }
        all->set_pointers();
        return all;
    }

private:
    void expect(bool is_good) const {
        if (!is_good) {
            throw SetUpError(path_ + ": is damaged. Write it again by flexsim shape --code json");
        }
    }

    double number(const Json &value) const {
        expect(value.is_number() && std::isfinite(value.get<double>()));
        return value.get<double>();
    }

    std::int32_t size(const char *name) const {
        const double value = number(tree_.at(name));
        expect(value >= 0.0 && value <= max_size && value == std::floor(value));
        return static_cast<std::int32_t>(value);
    }

    void read_numbers(flex_shaper_tables &t) const {
        t.joints = size("joints");
        t.samples = size("samples");
        t.taps = size("taps");
        t.stages = size("stages");
        t.impulses = size("impulses");
        t.axes = size("axes");
        t.rows = size("rows");
        t.limiter_samples = size("limiter_samples");
        t.period = number(tree_.at("period"));
        t.duration = number(tree_.at("duration"));
        t.catch_up = number(tree_.at("catch_up"));
    }

    /// Read the numbers of a list, or of a list of lists, row by row.
    template <typename Number>
    void read_array(const char *name, std::int32_t rows, std::int32_t columns,
                    std::vector<Number> &values) const {
        const auto add = [&](const Json &value) {
            const double real = number(value);
            expect(std::is_same_v<Number, double> ||
                   (std::fabs(real) <= max_size && real == std::floor(real)));
            values.push_back(static_cast<Number>(real));
        };
        for (const Json &row : tree_.at(name)) {
            if (row.is_array()) {
                std::for_each(row.begin(), row.end(), add);
            } else {
                add(row);
            }
        }
        expect(values.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    }

    void read_arrays(const flex_shaper_tables &t, TableArrays &a) const {
        read_array("max_change", t.joints, 1, a.max_change);
        read_array("max_travel", t.joints, 1, a.max_travel);
        read_array("delay", t.taps, 1, a.delay);
        read_array("weight", t.taps, 1, a.weight);
        read_array("cycles", t.stages, t.impulses, a.cycles);
        read_array("amplitude", t.stages, t.impulses, a.amplitude);
        read_array("axis_joint", t.axes, 1, a.axis_joint);
        read_array("axis_origin", t.axes, 1, a.axis_origin);
        read_array("axis_unit", t.axes, 1, a.axis_unit);
        read_array("axis_size", t.axes, 1, a.axis_size);
        read_array("axis_stride", t.axes, 1, a.axis_stride);
        read_array("frequency", t.rows, t.stages, a.frequency);
    }

    /// Repeat the tables of a recording, which are for one joint.
    void repeat(ShaperTables &all, const std::vector<std::string> &joints) const {
        expect(all.tables_.joints == 1 && all.tables_.stages == 0);
        if (!joints.empty()) {
            all.joints_ = joints;
            all.tables_.joints = static_cast<std::int32_t>(joints.size());
            all.arrays_.max_change.assign(joints.size(), all.arrays_.max_change[0]);
            all.arrays_.max_travel.assign(joints.size(), all.arrays_.max_travel[0]);
        }
    }

    const Json &tree_;
    const std::string &path_;
};

std::shared_ptr<const ShaperTables> ShaperTables::read(const std::string &path,
                                                       const std::vector<std::string> &joints) {
    std::ifstream file(path);
    if (!file) {
        throw SetUpError(path + ": cannot be read. Set the parameter to a file of flexsim "
                                "shape --code json");
    }
    const Json tree = Json::parse(file, nullptr, false);
    const Json kind = tree.is_object() ? tree.value("kind", Json()) : Json();
    if (kind == "flex_robot_sim shaper 1") {
        throw SetUpError(path + ": is a design without a period. Write its tables: flexsim shape "
                                "--design " +
                         path + " --code json --period 0.001 --output tables.json");
    }
    if (kind != "flex_robot_sim shaper tables 1") {
        throw SetUpError(path + ": has no tables of a shaper. Write them by flexsim shape --code "
                                "json --output FILE");
    }
    try {
        return Reader(tree, path).read(joints);
    } catch (const Json::exception &) {
        throw SetUpError(path + ": is damaged. Write it again by flexsim shape --code json");
    }
}

void ShaperTables::set_pointers() {
    for (const std::string &joint : joints_) {
        names_.push_back(joint.c_str());
    }
    tables_.shaper = shaper_.c_str();
    tables_.robot = robot_.c_str();
    tables_.joint_names = names_.data();
    tables_.max_change = arrays_.max_change.data();
    tables_.delay = arrays_.delay.data();
    tables_.weight = arrays_.weight.data();
    tables_.cycles = arrays_.cycles.data();
    tables_.amplitude = arrays_.amplitude.data();
    tables_.axis_joint = arrays_.axis_joint.data();
    tables_.axis_origin = arrays_.axis_origin.data();
    tables_.axis_unit = arrays_.axis_unit.data();
    tables_.axis_size = arrays_.axis_size.data();
    tables_.axis_stride = arrays_.axis_stride.data();
    tables_.frequency = arrays_.frequency.data();
    tables_.max_travel = arrays_.max_travel.data();
}

}  // namespace flex_shaper_plugins
