// A controller manager finds the plugin and loads it.
#include <gmock/gmock.h>

#include <memory>
#include <string>

#include <controller_manager/controller_manager.hpp>
#include <rclcpp/executors/single_threaded_executor.hpp>
#include <rclcpp/utilities.hpp>
#include <ros2_control_test_assets/descriptions.hpp>

TEST(InputShaperController, is_loaded_by_a_controller_manager) {
    rclcpp::init(0, nullptr);
    std::shared_ptr<rclcpp::Executor> executor =
        std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
    {
        controller_manager::ControllerManager manager(
            executor, ros2_control_test_assets::minimal_robot_urdf, true, "test_controller_manager");
        manager.set_parameter({"test_input_shaper.params_file", std::string(PARAMETERS)});
        manager.set_parameter(
            {"test_input_shaper.type", "flex_shaper_plugins/InputShaperController"});
        EXPECT_NE(manager.load_controller("test_input_shaper"), nullptr);
    }
    rclcpp::shutdown();
}
