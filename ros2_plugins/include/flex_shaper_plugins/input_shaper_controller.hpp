// A ros2_control controller that shapes position references for the joints below it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/state.hpp>
#include <realtime_tools/realtime_buffer.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>

#include "flex_shaper_plugins/code_report.hpp"
#include "flex_shaper_plugins/input_shaper_controller_parameters.hpp"
#include "flex_shaper_plugins/shaper_unit.hpp"

namespace flex_shaper_plugins {

/**
 * Chainable controller: `joint_trajectory_controller` claims its references by `command_joints`.
 *
 * Without a controller in front of it, it takes references from the topic `~/commands`. A bad
 * reference is replaced by the last good one, and a timer logs one line about it.
 */
class InputShaperController : public controller_interface::ChainableControllerInterface {
public:
    controller_interface::CallbackReturn on_init() override;
    controller_interface::CallbackReturn
    on_configure(const rclcpp_lifecycle::State &previous_state) override;
    controller_interface::CallbackReturn
    on_activate(const rclcpp_lifecycle::State &previous_state) override;
    controller_interface::CallbackReturn
    on_cleanup(const rclcpp_lifecycle::State &previous_state) override;

    controller_interface::InterfaceConfiguration command_interface_configuration() const override;
    controller_interface::InterfaceConfiguration state_interface_configuration() const override;

protected:
    using Commands = std_msgs::msg::Float64MultiArray;

    std::vector<hardware_interface::CommandInterface::SharedPtr>
    on_export_reference_interfaces_list() override;

    controller_interface::return_type
    update_reference_from_subscribers(const rclcpp::Time &time,
                                      const rclcpp::Duration &period) override;
    controller_interface::return_type
    update_and_write_commands(const rclcpp::Time &time, const rclcpp::Duration &period) override;

private:
    /// Read the measured positions and velocities; false if one has no value.
    bool read_states();
    /// Position at which shaping begins: the commands in force, or the measured positions.
    void choose_start();
    void on_commands(const Commands &message);
    void log_report();

    std::shared_ptr<input_shaper_controller::ParamListener> parameter_listener_;
    input_shaper_controller::Params parameters_;
    std::unique_ptr<ShaperUnit> unit_;
    std::vector<double> references_, measured_, velocity_, start_;
    realtime_tools::RealtimeBuffer<std::vector<double>> commands_;
    rclcpp::Subscription<Commands>::SharedPtr subscription_;
    rclcpp::TimerBase::SharedPtr timer_;
    CodeReport report_;
};

}  // namespace flex_shaper_plugins
