// Stub of the robot state of MoveIt: a planar chain of links of 1 m.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <Eigen/Dense>

#include "moveit/robot_model/robot_model.hpp"

namespace moveit::core {

class RobotState {
public:
    explicit RobotState(RobotModelConstPtr model) : model_(std::move(model)) {}

    double getVariablePosition(const std::string &name) const { return position_.at(name); }
    double getVariableVelocity(const std::string &name) const { return velocity_.at(name); }
    void setVariablePosition(const std::string &name, double value) {
        position_[name] = value;
        stub_is_updated = false;
    }
    void setVariableVelocity(const std::string &name, double value) { velocity_[name] = value; }
    bool hasVelocities() const { return !velocity_.empty(); }
    void zeroVelocities() {
        for (const auto &joint : position_) {
            velocity_[joint.first] = 0.0;
        }
    }
    void dropAccelerations() { stub_has_accelerations = false; }
    void update() {
        double angle = 0.0;
        place_ = {};
        for (const std::string &joint : model_->stub_group.stub_joints) {
            angle += position_.at(joint);
            place_.place.values[0] += std::cos(angle);
            place_.place.values[1] += std::sin(angle);
        }
        stub_is_updated = true;
    }
    const Eigen::Isometry3d &getGlobalLinkTransform(const std::string &) const { return place_; }

    bool stub_has_accelerations = false, stub_is_updated = false;

private:
    RobotModelConstPtr model_;
    std::map<std::string, double> position_, velocity_;
    Eigen::Isometry3d place_;
};

}  // namespace moveit::core
