// Stub of the trajectory of MoveIt.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "moveit/robot_state/robot_state.hpp"

namespace robot_trajectory {

class RobotTrajectory {
public:
    RobotTrajectory(const moveit::core::RobotModelConstPtr &model,
                    const moveit::core::JointModelGroup *group)
        : model_(model), group_(group) {}

    const moveit::core::RobotModelConstPtr &getRobotModel() const { return model_; }
    const moveit::core::JointModelGroup *getGroup() const { return group_; }
    std::size_t getWayPointCount() const { return states_.size(); }
    const moveit::core::RobotState &getWayPoint(std::size_t i) const { return states_[i]; }
    const moveit::core::RobotState &getFirstWayPoint() const { return states_.front(); }
    double getWayPointDurationFromPrevious(std::size_t i) const { return durations_[i]; }
    RobotTrajectory &addSuffixWayPoint(const moveit::core::RobotState &state, double dt) {
        states_.push_back(state);
        states_.back().update();
        durations_.push_back(dt);
        return *this;
    }
    RobotTrajectory &unwind() {
        stub_is_unwound = true;
        return *this;
    }

    bool stub_is_unwound = false;

private:
    moveit::core::RobotModelConstPtr model_;
    const moveit::core::JointModelGroup *group_;
    std::vector<moveit::core::RobotState> states_;
    std::vector<double> durations_;
};
using RobotTrajectoryPtr = std::shared_ptr<RobotTrajectory>;

}  // namespace robot_trajectory
