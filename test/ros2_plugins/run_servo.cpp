// Runs the plugin of MoveIt Servo against the stubs of ROS, in a loop as that of Servo.
//
// usage: run_servo WORD...   words NAME=VALUE set parameters; joints=a,b are those of the group
// The first row is the position of a reset; then rows of velocities come in, and rows of a flag,
// positions and velocities go out. As Servo does, the loop adds an increment to its last output.
// The log goes to standard error; the exit code is 3 if the plugin is not initialized.
#include <moveit/online_signal_smoothing/smoothing_base_class.hpp>

#include "program_parts.hpp"

std::unique_ptr<online_signal_smoothing::SmoothingBaseClass> stub_plugin();

int main(int argc, char **argv) {
    const Words words(argc, argv);
    const std::vector<double> values = read_all();
    auto model = std::make_shared<moveit::core::RobotModel>();
    model->stub_group.stub_joints = split(words.text("joints", ""));
    for (const std::string &joint : model->stub_group.stub_joints) {
        auto &bounds = model->stub_bounds[joint];
        bounds.position_bounded_ = words.has("upper");
        bounds.min_position_ = -1.0;
        bounds.max_position_ = words.number("upper");
    }
    auto node = std::make_shared<rclcpp::Node>("servo_node");
    words.set_parameters(node->stub_parameters);
    auto plugin = stub_plugin();
    const std::size_t n = model->stub_group.stub_joints.size();
    if (!plugin->initialize(node, model, n + words.has("more_joints"))) {
        return finish(3);
    }
    const auto size = static_cast<Eigen::Index>(n);
    Eigen::VectorXd positions(size), velocities(size), accelerations(size), output(size);
    for (Eigen::Index j = 0; j < size; ++j) {
        output[j] = values[static_cast<std::size_t>(j)];
        velocities[j] = words.number("start_velocity");
    }
    const double period = words.number("period", 0.01);
    const bool is_reset = plugin->reset(output, velocities, accelerations);
    check(is_reset != words.has("start_velocity"));
    for (std::size_t i = n; i + n <= values.size(); i += n) {
        for (std::size_t j = 0; j < n; ++j) {
            const auto k = static_cast<Eigen::Index>(j);
            velocities[k] = values[i + j];
            positions[k] = output[k] + velocities[k] * period;
        }
        const bool is_bad = !plugin->doSmoothing(positions, velocities, accelerations);
        std::vector<double> row = {is_bad ? 1.0 : 0.0};
        for (Eigen::Index j = 0; j < size; ++j) {
            output[j] = positions[j];
            row.push_back(positions[j]);
        }
        for (Eigen::Index j = 0; j < size; ++j) {
            row.push_back(velocities[j]);
        }
        write(row);
    }
    return finish(0);
}
