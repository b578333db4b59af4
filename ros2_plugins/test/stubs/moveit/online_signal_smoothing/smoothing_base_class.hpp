// Stub of the smoothing plugins of MoveIt Servo.
#pragma once

#include <cstddef>

#include <Eigen/Dense>

#include "moveit/robot_model/robot_model.hpp"
#include "rclcpp/rclcpp.hpp"

namespace online_signal_smoothing {

class SmoothingBaseClass {
public:
    virtual ~SmoothingBaseClass() = default;
    virtual bool initialize(rclcpp::Node::SharedPtr node,
                            moveit::core::RobotModelConstPtr robot_model,
                            std::size_t num_joints) = 0;
    virtual bool doSmoothing(Eigen::VectorXd &positions, Eigen::VectorXd &velocities,
                             Eigen::VectorXd &accelerations) = 0;
    virtual bool reset(const Eigen::VectorXd &positions, const Eigen::VectorXd &velocities,
                       const Eigen::VectorXd &accelerations) = 0;
};

}  // namespace online_signal_smoothing
