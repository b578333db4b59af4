// Runs the planning response adapter against the stubs of ROS, for test_plugins.py.
//
// usage: run_adapter WORD...   words NAME=VALUE set parameters; joints=a,b are those of the group
// Rows of time, positions and velocities come in (no velocities with the word `lines`), and go out.
// The log goes to standard error; the exit code is 3 if the adapter has failed.
#include <moveit/planning_interface/planning_response_adapter.hpp>

#include "program_parts.hpp"

std::unique_ptr<planning_interface::PlanningResponseAdapter> stub_plugin();

int main(int argc, char **argv) {
    const Words words(argc, argv);
    const std::vector<double> values = read_all();
    auto model = std::make_shared<moveit::core::RobotModel>();
    model->stub_group.stub_joints = split(words.text("joints", ""));
    model->stub_group.stub_links = {"link_1", "tool0"};
    auto node = std::make_shared<rclcpp::Node>("move_group");
    words.set_parameters(node->stub_parameters);
    auto adapter = stub_plugin();
    if (!words.has("uninitialized")) {
        adapter->initialize(node, "ompl");
    }
    planning_interface::MotionPlanResponse response;
    response.error_code = moveit::core::MoveItErrorCode::SUCCESS;
    const auto &joints = model->stub_group.stub_joints;
    const std::size_t n = joints.size(), width = words.has("lines") ? n + 1 : 2 * n + 1;
    if (!values.empty()) {
        response.trajectory = std::make_shared<robot_trajectory::RobotTrajectory>(
            model, model->getJointModelGroup("arm"));
    }
    for (std::size_t i = 0; i + width <= values.size(); i += width) {
        moveit::core::RobotState state(model);
        state.stub_has_accelerations = true;
        for (std::size_t j = 0; j < n; ++j) {
            state.setVariablePosition(joints[j], values[i + 1 + j]);
            if (!words.has("lines")) {
                state.setVariableVelocity(joints[j], values[i + 1 + n + j]);
            }
        }
        response.trajectory->addSuffixWayPoint(state, i > 0 ? values[i] - values[i - width] : 0.0);
    }
    const auto planned = response.trajectory;
    adapter->adapt(nullptr, {}, response);
    for (const std::string &line : rclcpp::stub_log()) {
        std::fprintf(stderr, "%s\n", line.c_str());
    }
    if (response.error_code.val != moveit::core::MoveItErrorCode::SUCCESS) {
        check(response.error_code.val == moveit::core::MoveItErrorCode::INVALID_MOTION_PLAN);
        check(response.trajectory == planned);
        return 3;
    }
    check(response.trajectory == planned || planned->stub_is_unwound);
    double time = 0.0;
    for (std::size_t i = 0; i < response.trajectory->getWayPointCount(); ++i) {
        const auto &state = response.trajectory->getWayPoint(i);
        check(state.stub_is_updated);
        check(response.trajectory == planned || !state.stub_has_accelerations);
        time += response.trajectory->getWayPointDurationFromPrevious(i);
        std::vector<double> row = {time};
        for (const std::string &joint : joints) {
            row.push_back(state.getVariablePosition(joint));
        }
        for (const std::string &joint : joints) {
            row.push_back(state.hasVelocities() ? state.getVariableVelocity(joint) : 0.0);
        }
        write(row);
    }
    return 0;
}
