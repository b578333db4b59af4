// Stub of hardware_interface: interfaces of doubles.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace hardware_interface {

class CommandInterface {
public:
    using SharedPtr = std::shared_ptr<CommandInterface>;

    explicit CommandInterface(const std::string &prefix, const std::string &name)
        : name_(prefix + "/" + name) {}
    CommandInterface(const CommandInterface &) = delete;

    const std::string &get_name() const { return name_; }
    template <typename T>
    [[nodiscard]] bool set_value(const T &value) {
        value_ = stub_is_locked ? value_ : value;
        return !stub_is_locked;
    }
    template <typename T = double>
    [[nodiscard]] std::optional<T> get_optional() const {
        return stub_is_locked ? std::nullopt : std::optional<T>(value_);
    }

    bool stub_is_locked = false;

private:
    std::string name_;
    double value_ = std::numeric_limits<double>::quiet_NaN();
};

using StateInterface = CommandInterface;

/// Of a command interface or of a state interface.
class StubLoan {
public:
    explicit StubLoan(std::shared_ptr<CommandInterface> interface)
        : interface_(std::move(interface)) {}

    const std::string &get_name() const { return interface_->get_name(); }
    template <typename T>
    [[nodiscard]] bool set_value(const T &value) {
        return interface_->set_value(value);
    }
    template <typename T = double>
    [[nodiscard]] std::optional<T> get_optional() const {
        return interface_->get_optional<T>();
    }

private:
    std::shared_ptr<CommandInterface> interface_;
};

using LoanedCommandInterface = StubLoan;
using LoanedStateInterface = StubLoan;

}  // namespace hardware_interface
