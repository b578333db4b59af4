// Stub of controller_interface: what a controller manager does is up to the test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hardware_interface/handle.hpp"
#include "rclcpp_lifecycle/state.hpp"

namespace controller_interface {

enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };

struct InterfaceConfiguration {
    interface_configuration_type type = interface_configuration_type::NONE;
    std::vector<std::string> names = {};
};

class ChainableControllerInterface {
public:
    virtual ~ChainableControllerInterface() = default;

    virtual CallbackReturn on_init() = 0;
    virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
    virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
    virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) = 0;
    virtual InterfaceConfiguration command_interface_configuration() const = 0;
    virtual InterfaceConfiguration state_interface_configuration() const = 0;

    std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces() {
        ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
        return ordered_exported_reference_interfaces_;
    }
    void assign_interfaces(std::vector<hardware_interface::LoanedCommandInterface> &&commands,
                           std::vector<hardware_interface::LoanedStateInterface> &&states) {
        command_interfaces_ = std::move(commands);
        state_interfaces_ = std::move(states);
    }
    return_type update(const rclcpp::Time &time, const rclcpp::Duration &period) {
        if (!stub_is_chained) {
            const return_type code = update_reference_from_subscribers(time, period);
            if (code != return_type::OK) {
                return code;
            }
        }
        return update_and_write_commands(time, period);
    }

    std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() const { return stub_node; }
    unsigned int get_update_rate() const { return stub_update_rate; }

    std::shared_ptr<rclcpp_lifecycle::LifecycleNode> stub_node;
    unsigned int stub_update_rate = 1000;
    bool stub_is_chained = true;

protected:
    virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
    on_export_reference_interfaces_list() = 0;
    virtual return_type update_reference_from_subscribers(const rclcpp::Time &,
                                                          const rclcpp::Duration &) = 0;
    virtual return_type update_and_write_commands(const rclcpp::Time &,
                                                  const rclcpp::Duration &) = 0;

    std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
    std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;
    std::vector<hardware_interface::CommandInterface::SharedPtr>
        ordered_exported_reference_interfaces_;
};

}  // namespace controller_interface
