// Frequencies of the stages over the positions of some joints, interpolated linearly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "flex_shaper/tables.h"

namespace flex_shaper {

/// Looks up the frequencies of a pose; poses outside the table have those of its nearest pose.
class PoseTable {
public:
    explicit PoseTable(const flex_shaper_tables &tables)
        : tables_(&tables), cell_(static_cast<std::size_t>(tables.axes)),
          share_(static_cast<std::size_t>(tables.axes)) {}

    /// Write the frequencies (stages,) [Hz] at a position (joints,) [rad, m].
    void look_up(const double *position, double *frequencies) {
        const flex_shaper_tables &t = *tables_;
        for (std::int32_t k = 0; k < t.axes; ++k) {
            const double along = std::clamp(
                (position[t.axis_joint[k]] - t.axis_origin[k]) / t.axis_unit[k], 0.0,
                static_cast<double>(t.axis_size[k] - 1));
            cell_[index(k)] = std::min(static_cast<std::int32_t>(along), t.axis_size[k] - 2);
            share_[index(k)] = along - cell_[index(k)];
        }
        std::fill(frequencies, frequencies + t.stages, 0.0);
        for (std::uint32_t corner = 0; corner < 1U << t.axes; ++corner) {
            double weight = 1.0;
            std::int32_t row = 0;
            for (std::int32_t k = 0; k < t.axes; ++k) {
                const std::int32_t side = corner >> (t.axes - 1 - k) & 1U;
                weight *= side == 1 ? share_[index(k)] : 1.0 - share_[index(k)];
                row += (cell_[index(k)] + side) * t.axis_stride[k];
            }
            if (weight == 0.0) {
                continue;
            }
            const double *values = t.frequency + static_cast<std::ptrdiff_t>(row) * t.stages;
            for (std::int32_t m = 0; m < t.stages; ++m) {
                frequencies[m] += weight * values[m];
            }
        }
    }

private:
    static std::size_t index(std::int32_t k) { return static_cast<std::size_t>(k); }

    const flex_shaper_tables *tables_;
    std::vector<std::int32_t> cell_;
    std::vector<double> share_;
};

}  // namespace flex_shaper
