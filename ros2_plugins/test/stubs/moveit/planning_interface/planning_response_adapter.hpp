// Stub of the planning response adapters of MoveIt.
#pragma once

#include <memory>
#include <string>

#include "moveit/robot_trajectory/robot_trajectory.hpp"
#include "rclcpp/rclcpp.hpp"

namespace moveit::core {

class MoveItErrorCode {
public:
    enum { SUCCESS = 1, FAILURE = 99999, INVALID_MOTION_PLAN = -2 };
    MoveItErrorCode(int code = 0) : val(code) {}
    int val;
};

}  // namespace moveit::core

namespace planning_scene {
class PlanningScene {};
using PlanningSceneConstPtr = std::shared_ptr<const PlanningScene>;
}  // namespace planning_scene

namespace planning_interface {

struct MotionPlanRequest {};

struct MotionPlanResponse {
    robot_trajectory::RobotTrajectoryPtr trajectory;
    moveit::core::MoveItErrorCode error_code = moveit::core::MoveItErrorCode::FAILURE;
};

class PlanningResponseAdapter {
public:
    virtual ~PlanningResponseAdapter() = default;
    virtual void initialize(const rclcpp::Node::SharedPtr &, const std::string &) {}
    [[nodiscard]] virtual std::string getDescription() const = 0;
    virtual void adapt(const planning_scene::PlanningSceneConstPtr &, const MotionPlanRequest &,
                       MotionPlanResponse &) const = 0;
};

}  // namespace planning_interface
