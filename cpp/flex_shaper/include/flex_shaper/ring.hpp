// Ring buffer of samples of several joints; allocated once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flex_shaper {

/// Rows of a fixed number of values; row numbers wrap around.
class Ring {
public:
    Ring(std::int32_t rows, std::int32_t columns)
        : rows_(rows), columns_(columns),
          values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

    double *operator[](std::int32_t row) {
        return values_.data() + static_cast<std::ptrdiff_t>(row) * columns_;
    }
    const double *operator[](std::int32_t row) const {
        return values_.data() + static_cast<std::ptrdiff_t>(row) * columns_;
    }

    std::int32_t rows() const { return rows_; }
    std::int32_t after(std::int32_t row) const { return row + 1 == rows_ ? 0 : row + 1; }
    std::int32_t before(std::int32_t row) const { return row == 0 ? rows_ - 1 : row - 1; }

    /// Row that is `count` samples older, count < rows.
    std::int32_t older(std::int32_t row, std::int32_t count) const {
        return row < count ? row - count + rows_ : row - count;
    }

private:
    std::int32_t rows_, columns_;
    std::vector<double> values_;
};

}  // namespace flex_shaper
