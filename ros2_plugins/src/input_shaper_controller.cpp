#include "flex_shaper_plugins/input_shaper_controller.hpp"

#include <chrono>
#include <cmath>
#include <exception>

#include <pluginlib/class_list_macros.hpp>

namespace flex_shaper_plugins {

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

CallbackReturn InputShaperController::on_init() {
    try {
        parameter_listener_ =
            std::make_shared<input_shaper_controller::ParamListener>(get_node());
        parameters_ = parameter_listener_->get_params();
    } catch (const std::exception &error) {
        RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
        return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
}

CallbackReturn InputShaperController::on_configure(const rclcpp_lifecycle::State &) {
    try {
        parameters_ = parameter_listener_->get_params();
        LoopDescription loop;
        loop.joints = parameters_.joints;
        loop.period = 1.0 / get_update_rate();
        loop.robot = parameters_.robot;
        loop.rest_velocity = parameters_.rest_velocity;
        unit_ = std::make_unique<ShaperUnit>(
            ShaperTables::read(parameters_.tables, parameters_.joints), loop);
    } catch (const std::exception &error) {
        RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
        return CallbackReturn::FAILURE;
    }
    for (auto *values : {&references_, &measured_, &velocity_, &start_}) {
        values->assign(unit_->joints(), 0.0);
    }
    commands_.writeFromNonRT(start_);
    subscription_ = get_node()->create_subscription<Commands>(
        "~/commands", rclcpp::SystemDefaultsQoS(),
        [this](const Commands::SharedPtr message) { on_commands(*message); });
    timer_ = get_node()->create_wall_timer(std::chrono::milliseconds(500),
                                           [this]() { log_report(); });
    RCLCPP_INFO(get_node()->get_logger(), "shaping adds up to %.3f s to a motion",
                unit_->duration());
    return CallbackReturn::SUCCESS;
}

CallbackReturn InputShaperController::on_activate(const rclcpp_lifecycle::State &) {
    if (!read_states()) {
        RCLCPP_ERROR(get_node()->get_logger(), "a joint has no position or velocity yet");
        return CallbackReturn::FAILURE;
    }
    choose_start();
    const double *velocity = parameters_.use_velocity_states ? velocity_.data() : nullptr;
    const Code code = unit_->reset(start_.data(), velocity);
    if (code != FLEX_SHAPER_OK) {
        RCLCPP_ERROR(get_node()->get_logger(), "not activated: %s", flex_shaper::message(code));
        return CallbackReturn::FAILURE;
    }
    references_ = start_;
    commands_.writeFromNonRT(start_);
    // a controller in front of this one reads its own start from here
    for (std::size_t j = 0; j < unit_->joints(); ++j) {
        if (!ordered_exported_reference_interfaces_[j]->set_value(start_[j])) {
            return CallbackReturn::FAILURE;
        }
    }
    return CallbackReturn::SUCCESS;
}

CallbackReturn InputShaperController::on_cleanup(const rclcpp_lifecycle::State &) {
    timer_.reset();
    subscription_.reset();
    unit_.reset();
    return CallbackReturn::SUCCESS;
}

InterfaceConfiguration InputShaperController::command_interface_configuration() const {
    InterfaceConfiguration configuration;
    configuration.type = interface_configuration_type::INDIVIDUAL;
    for (const std::string &joint : parameters_.joints) {
        configuration.names.push_back(joint + "/position");
    }
    return configuration;
}

InterfaceConfiguration InputShaperController::state_interface_configuration() const {
    // all positions, then all velocities
    InterfaceConfiguration configuration = command_interface_configuration();
    if (parameters_.use_velocity_states) {
        for (const std::string &joint : parameters_.joints) {
            configuration.names.push_back(joint + "/velocity");
        }
    }
    return configuration;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
InputShaperController::on_export_reference_interfaces_list() {
    std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
    for (const std::string &joint : parameters_.joints) {
        interfaces.push_back(std::make_shared<hardware_interface::CommandInterface>(
            std::string(get_node()->get_name()) + "/" + joint, "position"));
    }
    return interfaces;
}

return_type InputShaperController::update_reference_from_subscribers(const rclcpp::Time &,
                                                                     const rclcpp::Duration &) {
    const std::vector<double> &latest = *commands_.readFromRT();
    for (std::size_t j = 0; j < unit_->joints(); ++j) {
        // if another thread reads the interface now, the next update writes it
        [[maybe_unused]] const bool is_set =
            ordered_exported_reference_interfaces_[j]->set_value(latest[j]);
    }
    return return_type::OK;
}

return_type InputShaperController::update_and_write_commands(const rclcpp::Time &,
                                                             const rclcpp::Duration &) {
    for (std::size_t j = 0; j < unit_->joints(); ++j) {
        const auto value = ordered_exported_reference_interfaces_[j]->get_optional<double>();
        references_[j] = value.value_or(references_[j]);
    }
    report_.add(unit_->step(references_.data()));
    bool are_written = true;
    for (std::size_t j = 0; j < unit_->joints(); ++j) {
        are_written = command_interfaces_[j].set_value(unit_->position()[j]) && are_written;
    }
    return are_written ? return_type::OK : return_type::ERROR;
}

bool InputShaperController::read_states() {
    const std::size_t n = unit_->joints();
    for (std::size_t i = 0; i < state_interfaces_.size(); ++i) {
        const auto value = state_interfaces_[i].get_optional<double>();
        if (!value.has_value() || !std::isfinite(*value)) {
            return false;
        }
        (i < n ? measured_[i] : velocity_[i - n]) = *value;
    }
    return true;
}

void InputShaperController::choose_start() {
    start_ = measured_;
    for (std::size_t j = 0; j < unit_->joints(); ++j) {
        const auto value = command_interfaces_[j].get_optional<double>();
        references_[j] = value.value_or(std::nan(""));
        if (!(std::fabs(references_[j] - measured_[j]) <= parameters_.start_tolerance)) {
            return;  // also without a command yet, which is NaN
        }
    }
    start_ = references_;
}

void InputShaperController::on_commands(const Commands &message) {
    if (message.data.size() != parameters_.joints.size()) {
        RCLCPP_ERROR_THROTTLE(get_node()->get_logger(), *get_node()->get_clock(), 1000,
                              "commands have %zu numbers, and %zu joints need one each",
                              message.data.size(), parameters_.joints.size());
        return;
    }
    commands_.writeFromNonRT(message.data);
}

void InputShaperController::log_report() {
    const std::string line = report_.line();
    if (!line.empty()) {
        RCLCPP_WARN(get_node()->get_logger(), "%s", line.c_str());
    }
}

}  // namespace flex_shaper_plugins

PLUGINLIB_EXPORT_CLASS(flex_shaper_plugins::InputShaperController,
                       controller_interface::ChainableControllerInterface)
