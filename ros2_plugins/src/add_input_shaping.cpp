// Planning response adapter of MoveIt: shapes the planned trajectory.
#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <moveit/planning_interface/planning_response_adapter.hpp>
#include <moveit/robot_state/robot_state.hpp>
#include <moveit/robot_trajectory/robot_trajectory.hpp>
#include <moveit/utils/logger.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "flex_shaper_plugins/add_input_shaping_parameters.hpp"
#include "flex_shaper_plugins/path_deviation.hpp"
#include "flex_shaper_plugins/trajectory_shaper.hpp"

namespace flex_shaper_plugins {

using moveit::core::MoveItErrorCode;
using moveit::core::RobotState;
using robot_trajectory::RobotTrajectory;

/// Runs after the time parameterization and before ValidateSolution.
class AddInputShaping : public planning_interface::PlanningResponseAdapter {
public:
    void initialize(const rclcpp::Node::SharedPtr &node,
                    const std::string &parameter_namespace) override {
        try {
            add_input_shaping_parameters::ParamListener listener(node, parameter_namespace);
            parameters_ = listener.get_params().input_shaping;
            tables_ = ShaperTables::read(parameters_.tables);
        } catch (const std::exception &error) {
            problem_ = error.what();
            RCLCPP_ERROR(logger_, "%s", problem_.c_str());
        }
    }

    [[nodiscard]] std::string getDescription() const override { return "AddInputShaping"; }

    void adapt(const planning_scene::PlanningSceneConstPtr &,
               const planning_interface::MotionPlanRequest &,
               planning_interface::MotionPlanResponse &response) const override {
        try {
            if (!tables_) {
                throw SetUpError(problem_);
            }
            if (!response.trajectory || response.trajectory->getGroup() == nullptr) {
                throw SetUpError("the response has no trajectory of a planning group");
            }
            if (response.trajectory->getWayPointCount() > 1) {
                shape(response);
            }
        } catch (const std::exception &error) {
            RCLCPP_ERROR(logger_, "%s", error.what());
            response.error_code = MoveItErrorCode::INVALID_MOTION_PLAN;
        }
    }

private:
    void shape(planning_interface::MotionPlanResponse &response) const {
        RobotTrajectory &planned = *response.trajectory;
        const std::vector<std::string> &joints = planned.getGroup()->getActiveJointModelNames();
        const auto tables = tables_for(joints);
        if (!tables) {
            return;  // of a gripper, for instance
        }
        LoopDescription loop;
        loop.joints = tables->joints();
        loop.period = tables->tables().period;
        loop.robot = parameters_.robot;
        loop.rest_velocity = parameters_.rest_velocity;
        ShaperUnit unit(tables, loop);

        planned.unwind();  // a continuous joint does not jump by 2 pi
        const Waypoints waypoints = waypoints_of(planned, loop.joints);
        check(waypoints, loop.joints.size());
        const auto rows = resampled(waypoints, loop.period);
        const double *velocity =
            waypoints.velocities.empty() ? nullptr : waypoints.velocities.front().data();
        const Samples samples = shaped(unit, rows, velocity);
        const double deviation = deviation_of(planned, loop.joints, samples, rows);
        if (parameters_.max_path_deviation > 0.0 && deviation > parameters_.max_path_deviation) {
            throw SetUpError("the shaped path leaves the planned one by " +
                             std::to_string(1e3 * deviation) + " mm, more than max_path_deviation = " +
                             std::to_string(1e3 * parameters_.max_path_deviation) +
                             " mm: plan a slower motion");
        }
        RCLCPP_INFO(logger_, "%s leaves its planned path by at most %.2f mm; %.3f s become %.3f s",
                    tip_of(planned).c_str(), 1e3 * deviation, waypoints.times.back(),
                    loop.period * static_cast<double>(samples.positions.size() - 1));
        response.trajectory = trajectory_of(planned, loop.joints, samples);
    }

    /// Tables of the joints of a group, or null if they have none of them.
    std::shared_ptr<const ShaperTables> tables_for(const std::vector<std::string> &joints) const {
        if (tables_->joints().empty()) {  // those of a recording
            return ShaperTables::read(parameters_.tables, joints);
        }
        const auto is_known = [&](const std::string &joint) {
            return std::find(tables_->joints().begin(), tables_->joints().end(), joint) !=
                   tables_->joints().end();
        };
        const auto known = std::count_if(joints.begin(), joints.end(), is_known);
        if (known == 0) {
            return nullptr;
        }
        if (static_cast<std::size_t>(known) != joints.size() ||
            joints.size() != tables_->joints().size()) {
            throw SetUpError(tables_->path() + ": the tables are not for all joints of the planning "
                                               "group, and for no others");
        }
        return tables_;
    }

    static Waypoints waypoints_of(const RobotTrajectory &planned,
                                  const std::vector<std::string> &joints) {
        Waypoints waypoints;
        double time = 0.0;
        bool has_velocities = true;
        for (std::size_t i = 0; i < planned.getWayPointCount(); ++i) {
            const RobotState &state = planned.getWayPoint(i);
            time += i > 0 ? planned.getWayPointDurationFromPrevious(i) : 0.0;
            waypoints.times.push_back(time);
            waypoints.positions.emplace_back();
            waypoints.velocities.emplace_back();
            has_velocities = has_velocities && state.hasVelocities();
            for (const std::string &joint : joints) {
                waypoints.positions.back().push_back(state.getVariablePosition(joint));
                if (has_velocities) {
                    waypoints.velocities.back().push_back(state.getVariableVelocity(joint));
                }
            }
        }
        if (!has_velocities) {
            waypoints.velocities.clear();
        }
        return waypoints;
    }

    std::string tip_of(const RobotTrajectory &planned) const {
        const std::string tip = parameters_.tip_link.empty()
                                    ? planned.getGroup()->getLinkModelNames().back()
                                    : parameters_.tip_link;
        if (!planned.getRobotModel()->hasLinkModel(tip)) {
            throw SetUpError("the robot has no link \"" + tip + "\": correct tip_link");
        }
        return tip;
    }

    double deviation_of(const RobotTrajectory &planned, const std::vector<std::string> &joints,
                        const Samples &samples,
                        const std::vector<std::vector<double>> &rows) const {
        const std::string tip = tip_of(planned);
        RobotState state(planned.getFirstWayPoint());
        const auto path = [&](const std::vector<std::vector<double>> &positions) {
            std::vector<Point> points;
            for (const std::vector<double> &row : positions) {
                set_positions(state, joints, row);
                const auto &place = state.getGlobalLinkTransform(tip).translation();
                points.push_back({place.x(), place.y(), place.z()});
            }
            return points;
        };
        const double added = tables_->tables().duration / samples.period;
        const auto window = std::max(samples.positions.size() - rows.size(),
                                     static_cast<std::size_t>(std::ceil(added - 1e-9)));
        return path_deviation(path(samples.positions), path(rows), window);
    }

    static void set_positions(RobotState &state, const std::vector<std::string> &joints,
                              const std::vector<double> &row) {
        for (std::size_t j = 0; j < joints.size(); ++j) {
            state.setVariablePosition(joints[j], row[j]);
        }
        state.update();
    }

    static robot_trajectory::RobotTrajectoryPtr
    trajectory_of(const RobotTrajectory &planned, const std::vector<std::string> &joints,
                  const Samples &samples) {
        auto trajectory =
            std::make_shared<RobotTrajectory>(planned.getRobotModel(), planned.getGroup());
        RobotState state(planned.getFirstWayPoint());
        state.zeroVelocities();
        state.dropAccelerations();  // controllers interpolate positions and velocities
        for (std::size_t i = 0; i < samples.positions.size(); ++i) {
            set_positions(state, joints, samples.positions[i]);
            for (std::size_t j = 0; j < joints.size(); ++j) {
                state.setVariableVelocity(joints[j], samples.velocities[i][j]);
            }
            trajectory->addSuffixWayPoint(state, i == 0 ? 0.0 : samples.period);
        }
        return trajectory;
    }

    rclcpp::Logger logger_ = moveit::getLogger("flex_shaper_plugins.add_input_shaping");
    decltype(add_input_shaping_parameters::Params::input_shaping) parameters_;
    std::shared_ptr<const ShaperTables> tables_;
    std::string problem_ = "AddInputShaping was not initialized";
};

}  // namespace flex_shaper_plugins

PLUGINLIB_EXPORT_CLASS(flex_shaper_plugins::AddInputShaping,
                       planning_interface::PlanningResponseAdapter)
