// Codes of a real-time loop as lines for the log of another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <flex_shaper/input_shaper.hpp>

namespace flex_shaper_plugins {

/// `add` belongs to the real-time thread and is lock-free; `line` belongs to any one other thread.
class CodeReport {
public:
    void add(flex_shaper::Code code) noexcept {
        if (code != FLEX_SHAPER_OK) {
            count_.fetch_add(1, std::memory_order_relaxed);
            worst_.store(code, std::memory_order_relaxed);
        }
        last_.store(code, std::memory_order_relaxed);
    }

    /// One line if set points were refused since the last call, or if they are accepted again.
    std::string line() {
        const std::uint32_t refused = count_.exchange(0, std::memory_order_relaxed);
        const bool is_good = last_.load(std::memory_order_relaxed) == FLEX_SHAPER_OK;
        const bool was_reported = is_reported_;
        is_reported_ = !is_good;
        if (refused > 0 && !(was_reported && !is_good)) {
            const auto code = static_cast<flex_shaper::Code>(worst_.load(std::memory_order_relaxed));
            return "refused set points: " + std::to_string(refused) + " (" +
                   flex_shaper::message(code) + ")";
        }
        return was_reported && is_good ? "set points are accepted again" : "";
    }

private:
    std::atomic<std::uint32_t> count_{0};
    std::atomic<int> worst_{0}, last_{0};
    bool is_reported_ = false;
};

}  // namespace flex_shaper_plugins
