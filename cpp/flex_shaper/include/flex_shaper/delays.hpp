// All delays of a design: a FIR filter, then stages whose delays follow the pose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flex_shaper/phase_stage.hpp"
#include "flex_shaper/pose_table.hpp"
#include "flex_shaper/ring.hpp"
#include "flex_shaper/tables.h"

namespace flex_shaper {

/// Shapes set points of one design, without checks and without velocity limits.
class Delays {
public:
    explicit Delays(const flex_shaper_tables &tables)
        : tables_(&tables), poses_(tables), history_(tables.samples, tables.joints),
          frequencies_(static_cast<std::size_t>(tables.stages)),
          mean_(static_cast<std::size_t>(tables.joints)),
          output_(static_cast<std::size_t>(tables.joints)) {
        stages_.reserve(static_cast<std::size_t>(tables.stages));
        for (std::int32_t m = 0; m < tables.stages; ++m) {
            stages_.emplace_back(tables, m);
        }
    }

    /// Begin with a constant history at a position (joints,) [rad, m].
    void reset(const double *position) {
        row_ = 0;
        filled_ = 0;
        std::copy(position, position + tables_->joints, history_[0]);
        std::copy(position, position + tables_->joints, output_.data());
        if (!stages_.empty()) {
            poses_.look_up(position, frequencies_.data());
        }
        for (std::size_t m = 0; m < stages_.size(); ++m) {
            stages_[m].reset(position, frequencies_[m]);
        }
        step(position);
    }

    /// Shape a sample (joints,) [rad, m]; the result is `output`.
    void step(const double *sample) {
        const std::int32_t n = tables_->joints;
        if (!stages_.empty()) {
            poses_.look_up(output_.data(), frequencies_.data());
        }
        row_ = history_.after(row_);
        filled_ = std::min(filled_ + 1, history_.rows() - 1);
        std::copy(sample, sample + n, history_[row_]);
        std::fill(mean_.begin(), mean_.end(), 0.0);
        double *mean = mean_.data(), *output = output_.data();
        for (std::int32_t k = 0; k < tables_->taps; ++k) {
            const double *past = history_[history_.older(row_, std::min(tables_->delay[k], filled_))];
            const double weight = tables_->weight[k];
            // relative to the newest sample: the end is reached exactly
            for (std::int32_t j = 0; j < n; ++j) {
                mean[j] += weight * (past[j] - sample[j]);
            }
        }
        for (std::int32_t j = 0; j < n; ++j) {
            output[j] = sample[j] + mean[j];
        }
        for (std::size_t m = 0; m < stages_.size(); ++m) {
            stages_[m].step(output, frequencies_[m]);
        }
    }

    const double *output() const { return output_.data(); }
    const flex_shaper_tables &tables() const { return *tables_; }

private:
    const flex_shaper_tables *tables_;
    PoseTable poses_;
    Ring history_;
    std::vector<PhaseStage> stages_;
    std::vector<double> frequencies_, mean_, output_;
    std::int32_t row_ = 0, filled_ = 0;
};

}  // namespace flex_shaper
