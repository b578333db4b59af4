// Stub of rclcpp: a node with parameters, and a log that tests read.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rclcpp {

struct Logger {};
struct Clock {};
struct Time {};
struct Duration {};
struct SystemDefaultsQoS {};

/// Lines of the log since the start of the test.
inline std::vector<std::string> &stub_log() {
    static std::vector<std::string> lines;
    return lines;
}

template <typename... Words>
void stub_print(const Logger &, const char *format, Words... words) {
    char line[1000];
    std::snprintf(line, sizeof line, format, words...);
    stub_log().push_back(line);
}

using StubValue = std::variant<bool, double, std::string, std::vector<std::string>>;

class Parameter {
public:
    explicit Parameter(StubValue value) : value_(std::move(value)) {}
    template <typename Value>
    Value get_value() const {
        return std::get<Value>(value_);
    }

private:
    StubValue value_;
};

class TimerBase {
public:
    using SharedPtr = std::shared_ptr<TimerBase>;
    std::function<void()> call;
};

template <typename Message>
class Subscription {
public:
    using SharedPtr = std::shared_ptr<Subscription>;
    std::function<void(std::shared_ptr<Message>)> call;
};

class Node {
public:
    using SharedPtr = std::shared_ptr<Node>;

    explicit Node(std::string name) : name_(std::move(name)) {}

    const char *get_name() const { return name_.c_str(); }
    Logger get_logger() const { return {}; }
    std::shared_ptr<Clock> get_clock() const { return std::make_shared<Clock>(); }
    bool has_parameter(const std::string &name) const { return stub_parameters.count(name) > 0; }
    Parameter get_parameter(const std::string &name) const {
        return Parameter(stub_parameters.at(name));
    }

    template <typename Message, typename Callback>
    typename Subscription<Message>::SharedPtr
    create_subscription(const std::string &topic, const SystemDefaultsQoS &, Callback callback) {
        auto subscription = std::make_shared<Subscription<Message>>();
        subscription->call = callback;
        stub_subscriptions[topic] = subscription;
        return subscription;
    }

    template <typename Callback>
    TimerBase::SharedPtr create_wall_timer(std::chrono::milliseconds, Callback callback) {
        stub_timer = std::make_shared<TimerBase>();
        stub_timer->call = callback;
        return stub_timer;
    }

    std::map<std::string, StubValue> stub_parameters;
    std::map<std::string, std::shared_ptr<void>> stub_subscriptions;
    TimerBase::SharedPtr stub_timer;

private:
    std::string name_;
};

}  // namespace rclcpp

#define RCLCPP_INFO(logger, ...) rclcpp::stub_print(logger, __VA_ARGS__)
#define RCLCPP_WARN(logger, ...) rclcpp::stub_print(logger, __VA_ARGS__)
#define RCLCPP_ERROR(logger, ...) rclcpp::stub_print(logger, __VA_ARGS__)
#define RCLCPP_ERROR_THROTTLE(logger, clock, milliseconds, ...)                                   \
    (static_cast<void>(clock), static_cast<void>(milliseconds),                                   \
     rclcpp::stub_print(logger, __VA_ARGS__))
