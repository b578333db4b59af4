// A stage whose delays follow the phase of a mode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "flex_shaper/ring.hpp"
#include "flex_shaper/tables.h"

namespace flex_shaper {

/// Weighted mean of its input at the times at which the phase was less by the delays in cycles.
class PhaseStage {
public:
    PhaseStage(const flex_shaper_tables &tables, std::int32_t stage)
        : joints_(tables.joints), half_period_(0.5 * tables.period),
          history_(tables.samples, phase_and_rate + tables.joints),
          mean_(static_cast<std::size_t>(tables.joints)) {
        const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(stage) * tables.impulses;
        for (std::ptrdiff_t i = first; i < first + tables.impulses; ++i) {
            if (tables.amplitude[i] != 0.0) {
                impulses_.push_back({tables.cycles[i], tables.amplitude[i], 0});
            }
        }
    }

    /// Begin with a constant history at a sample, and a frequency [Hz].
    void reset(const double *sample, double frequency) {
        row_ = 0;
        filled_ = 0;
        store(0, 0.0, frequency, sample);
        for (Impulse &impulse : impulses_) {
            impulse.row = 0;
        }
    }

    /// Replace a sample (joints,) by the shaped one, at the present frequency [Hz].
    void step(double *flow, double frequency) {
        const double phase = phase_at(row_) + half_period_ * (frequency + rate_at(row_));
        row_ = history_.after(row_);
        filled_ = std::min(filled_ + 1, history_.rows() - 1);
        store(row_, phase, frequency, flow);
        std::fill(mean_.begin(), mean_.end(), 0.0);
        double total = 0.0;
        for (Impulse &impulse : impulses_) {
            total += add(impulse, phase - impulse.cycles, frequency, flow);
        }
        for (std::int32_t j = 0; j < joints_; ++j) {
            flow[j] += mean_[static_cast<std::size_t>(j)] / total;
        }
    }

private:
    struct Impulse {
        double cycles, amplitude;
        std::int32_t row;  // at or before its input
    };

    static constexpr std::int32_t phase_and_rate = 2;  // columns before the input

    double phase_at(std::int32_t row) const { return history_[row][0]; }  // [cycles]
    double rate_at(std::int32_t row) const { return history_[row][1]; }   // [Hz]
    const double *input_at(std::int32_t row) const { return history_[row] + phase_and_rate; }

    void store(std::int32_t row, double phase, double frequency, const double *input) {
        double *values = history_[row];
        values[0] = phase;
        values[1] = frequency;
        std::copy(input, input + joints_, values + phase_and_rate);
    }

    /// Add the input at a phase to the mean; return its weight.
    double add(Impulse &impulse, double wanted, double frequency, const double *flow) {
        std::int32_t here = impulse.row;
        if (here == row_) {
            here = history_.after(here);  // its row is overwritten
        }
        while (here != row_ && phase_at(history_.after(here)) <= wanted) {
            here = history_.after(here);
        }
        impulse.row = here;
        const std::int32_t after = here == row_ ? here : history_.after(here);
        double share = 0.0;
        if (here != row_ && wanted > phase_at(here)) {
            share = (wanted - phase_at(here)) / (phase_at(after) - phase_at(here));
        }
        // the amplitude of a vibration depends on the frequency at its start
        const double rate = rate_at(here) + share * (rate_at(after) - rate_at(here));
        const double weight = impulse.amplitude * std::sqrt(rate / frequency);
        const double *a = input_at(here), *b = input_at(after);
        double *mean = mean_.data();
        const std::int32_t behind = row_ < here ? row_ - here + history_.rows() : row_ - here;
        if (behind < 2 || behind + 1 > filled_) {
            for (std::int32_t j = 0; j < joints_; ++j) {
                mean[j] += weight * (a[j] + share * (b[j] - a[j]) - flow[j]);
            }
            return weight;
        }
        // cubic through four samples, clipped to its two neighbours
        const double *z = input_at(history_.before(here)), *c = input_at(history_.after(after));
        const double shape = share * (1.0 - share);
        for (std::int32_t j = 0; j < joints_; ++j) {
            const double bend = (share - 2.0) * (z[j] - 2.0 * a[j] + b[j]) -
                                (1.0 + share) * (a[j] - 2.0 * b[j] + c[j]);
            const double value = a[j] + share * (b[j] - a[j]) + shape * bend / 6.0;
            const double low = std::min(a[j], b[j]), high = std::max(a[j], b[j]);
            mean[j] += weight * (std::min(std::max(value, low), high) - flow[j]);
        }
        return weight;
    }

    std::int32_t joints_, row_ = 0, filled_ = 0;
    double half_period_;
    Ring history_;  // phase, frequency and input of each sample
    std::vector<Impulse> impulses_;
    std::vector<double> mean_;
};

}  // namespace flex_shaper
