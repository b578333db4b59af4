// Tables of a shaper from a file of `flexsim shape --code json`.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <flex_shaper/tables.h>

namespace flex_shaper_plugins {

/// A file or a setting cannot be used; `what()` is one line that says what to do.
class SetUpError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Arrays of numbers that `flex_shaper_tables` points to.
struct TableArrays {
    std::vector<std::int32_t> delay, axis_joint, axis_size, axis_stride;
    std::vector<double> max_change, weight, cycles, amplitude, axis_origin, axis_unit, frequency;
    std::vector<double> max_travel;
};

/// Checked constants of a shaper; the core keeps pointers to them.
class ShaperTables {
public:
    /**
     * Read the tables for joints in the order of the set points.
     *
     * Tables of a recording name no joints: they are repeated for all of these joints. Without
     * `joints`, the joints are those of the tables. Throws SetUpError.
     */
    static std::shared_ptr<const ShaperTables> read(const std::string &path,
                                                    const std::vector<std::string> &joints = {});

    ShaperTables(const ShaperTables &) = delete;
    ShaperTables &operator=(const ShaperTables &) = delete;

    const flex_shaper_tables &tables() const { return tables_; }
    const std::vector<std::string> &joints() const { return joints_; }
    const std::string &path() const { return path_; }

private:
    class Reader;

    ShaperTables() = default;
    void set_pointers();

    std::string path_, shaper_, robot_;
    std::vector<std::string> joints_;
    std::vector<const char *> names_;
    TableArrays arrays_;
    flex_shaper_tables tables_{};
};

}  // namespace flex_shaper_plugins
