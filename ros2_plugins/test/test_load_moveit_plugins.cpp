// The class loaders of MoveIt find both plugins.
#include <gmock/gmock.h>

#include <moveit/online_signal_smoothing/smoothing_base_class.hpp>
#include <moveit/planning_interface/planning_response_adapter.hpp>
#include <pluginlib/class_loader.hpp>

TEST(AddInputShaping, is_loaded_as_a_planning_response_adapter) {
    pluginlib::ClassLoader<planning_interface::PlanningResponseAdapter> loader(
        "moveit_core", "planning_interface::PlanningResponseAdapter");
    const auto adapter = loader.createUniqueInstance("flex_shaper_plugins/AddInputShaping");
    EXPECT_EQ(adapter->getDescription(), "AddInputShaping");
    planning_interface::MotionPlanResponse response;
    adapter->adapt(nullptr, {}, response);  // without a trajectory
    EXPECT_EQ(response.error_code.val, moveit::core::MoveItErrorCode::INVALID_MOTION_PLAN);
}

TEST(InputShapingPlugin, is_loaded_as_a_smoothing_plugin) {
    pluginlib::ClassLoader<online_signal_smoothing::SmoothingBaseClass> loader(
        "moveit_core", "online_signal_smoothing::SmoothingBaseClass");
    EXPECT_NE(loader.createUniqueInstance("flex_shaper_plugins::InputShapingPlugin"), nullptr);
}
