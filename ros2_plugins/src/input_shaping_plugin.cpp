// Smoothing plugin of MoveIt Servo: shapes the commanded motion.
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <moveit/online_signal_smoothing/smoothing_base_class.hpp>
#include <moveit/robot_model/robot_model.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/rclcpp.hpp>

#include "flex_shaper_plugins/input_shaping_plugin_parameters.hpp"
#include "flex_shaper_plugins/servo_shaper.hpp"

namespace flex_shaper_plugins {

class InputShapingPlugin : public online_signal_smoothing::SmoothingBaseClass {
public:
    bool initialize(rclcpp::Node::SharedPtr node, moveit::core::RobotModelConstPtr robot_model,
                    size_t num_joints) override {
        node_ = node;
        try {
            input_shaping_plugin_parameters::ParamListener listener(node);
            const auto parameters = listener.get_params().input_shaping;
            const std::string group = parameters.planning_group_name.empty()
                                          ? servo_setting("move_group_name", std::string())
                                          : parameters.planning_group_name;
            if (!robot_model->hasJointModelGroup(group)) {
                throw SetUpError("the robot has no planning group \"" + group +
                                 "\": correct planning_group_name");
            }
            LoopDescription loop;
            loop.joints = robot_model->getJointModelGroup(group)->getActiveJointModelNames();
            loop.period = parameters.update_period > 0.0 ? parameters.update_period
                                                         : servo_setting("publish_period", 0.0);
            loop.robot = parameters.robot;
            loop.rest_velocity = parameters.rest_velocity;
            if (loop.joints.size() != num_joints) {
                throw SetUpError("the planning group \"" + group + "\" is not that of Servo");
            }
            servo_ = std::make_unique<ServoShaper>(
                ShaperUnit(ShaperTables::read(parameters.tables, loop.joints), loop));
            for (std::size_t j = 0; j < loop.joints.size(); ++j) {
                const auto &bounds = robot_model->getVariableBounds(loop.joints[j]);
                if (bounds.position_bounded_) {
                    servo_->limit(j, bounds.min_position_, bounds.max_position_);
                }
            }
        } catch (const std::exception &error) {
            RCLCPP_ERROR(node_->get_logger(), "%s", error.what());
            return false;
        }
        return true;
    }

    bool doSmoothing(Eigen::VectorXd &positions, Eigen::VectorXd &velocities,
                     Eigen::VectorXd &accelerations) override {
        if (!has_size(positions, velocities) || accelerations.size() != positions.size()) {
            return false;
        }
        const Code code = servo_->step(velocities.data());
        for (Eigen::Index j = 0; j < positions.size(); ++j) {
            positions[j] = servo_->position()[j];
            velocities[j] = servo_->velocity()[j];
            accelerations[j] = servo_->acceleration()[j];
        }
        return report(code);
    }

    bool reset(const Eigen::VectorXd &positions, const Eigen::VectorXd &velocities,
               const Eigen::VectorXd &) override {
        return has_size(positions, velocities) &&
               report(servo_->reset(positions.data(), velocities.data()));
    }

private:
    /// A parameter of Servo, whose plugins share its node.
    template <typename Value>
    Value servo_setting(const std::string &name, Value missing) const {
        const std::string full_name = "moveit_servo." + name;
        return node_->has_parameter(full_name)
                   ? node_->get_parameter(full_name).template get_value<Value>()
                   : missing;
    }

    bool has_size(const Eigen::VectorXd &positions, const Eigen::VectorXd &velocities) const {
        const bool is_good =
            servo_ && static_cast<std::size_t>(positions.size()) == servo_->joints() &&
            positions.size() == velocities.size();
        if (!is_good) {
            RCLCPP_ERROR_THROTTLE(node_->get_logger(), *node_->get_clock(), 1000,
                                  "positions and velocities do not have one number per joint");
        }
        return is_good;
    }

    bool report(Code code) const {
        if (code != FLEX_SHAPER_OK) {
            RCLCPP_ERROR_THROTTLE(node_->get_logger(), *node_->get_clock(), 1000,
                                  "input shaping: %s", flex_shaper::message(code));
        }
        return code == FLEX_SHAPER_OK;
    }

    rclcpp::Node::SharedPtr node_;
    std::unique_ptr<ServoShaper> servo_;
};

}  // namespace flex_shaper_plugins

PLUGINLIB_EXPORT_CLASS(flex_shaper_plugins::InputShapingPlugin,
                       online_signal_smoothing::SmoothingBaseClass)
