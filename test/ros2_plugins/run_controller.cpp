// Runs the controller against the stubs of ROS, for test_plugins.py.
//
// usage: run_controller WORD...   words NAME=VALUE set parameters; others are below
// Rows of references come in, rows of commands go out; the log goes to standard error.
// The exit code is 3 if it is not configured, and 4 if it is not activated.
#include <controller_interface/chainable_controller_interface.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>

#include "program_parts.hpp"

std::unique_ptr<controller_interface::ChainableControllerInterface> stub_plugin();

using controller_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using Message = std_msgs::msg::Float64MultiArray;

namespace {

using Interfaces = std::vector<std::shared_ptr<CommandInterface>>;

/// Interfaces by their full names; the value of each is that of the word KIND, or NaN.
Interfaces interfaces_of(const Words &words, const std::string &prefix,
                         const std::vector<std::string> &names) {
    Interfaces found;
    for (const std::string &name : names) {
        const std::size_t end = name.rfind('/');
        const std::string kind = prefix + name.substr(end + 1);
        found.push_back(
            std::make_shared<CommandInterface>(name.substr(0, end), name.substr(end + 1)));
        if (words.has(kind)) {
            check(found.back()->set_value(words.number(kind)));
        }
    }
    return found;
}

std::vector<hardware_interface::StubLoan> loans(const Interfaces &interfaces) {
    return {interfaces.begin(), interfaces.end()};
}

}  // namespace

int main(int argc, char **argv) {
    const Words words(argc, argv);
    const std::vector<double> values = read_all();
    auto controller = stub_plugin();
    auto node = std::make_shared<rclcpp::Node>("shaper");
    controller->stub_node = node;
    controller->stub_update_rate = static_cast<unsigned>(words.number("rate", 1000));
    controller->stub_is_chained = !words.has("topic");
    words.set_parameters(node->stub_parameters);
    check(controller->on_init() == CallbackReturn::SUCCESS);
    if (controller->on_configure({}) != CallbackReturn::SUCCESS) {
        return finish(3);
    }
    const auto references = controller->export_reference_interfaces();
    for (const auto &reference : references) {
        rclcpp::stub_log().push_back(reference->get_name());
    }
    const auto commands = interfaces_of(words, "command_",
                                        controller->command_interface_configuration().names);
    const auto states =
        interfaces_of(words, "", controller->state_interface_configuration().names);
    controller->assign_interfaces(loans(commands), loans(states));
    if (controller->on_activate({}) != CallbackReturn::SUCCESS) {
        return finish(4);
    }
    const std::size_t n = references.size();
    auto subscription = std::static_pointer_cast<rclcpp::Subscription<Message>>(
        node->stub_subscriptions.at("~/commands"));
    const auto locked_row = static_cast<std::size_t>(words.number("locked", 1e9));
    std::vector<double> row(n);
    for (std::size_t i = 0; i * n < values.size(); ++i) {
        const std::size_t count = std::min(n, values.size() - i * n);
        if (words.has("topic")) {
            auto message = std::make_shared<Message>();
            message->data.assign(values.data() + i * n, values.data() + i * n + count);
            subscription->call(message);
        }
        is_allowed = false;
        for (std::size_t j = 0; j < n && !words.has("topic"); ++j) {
            check(references[j]->set_value(values[i * n + j]));
            references[j]->stub_is_locked = i == locked_row;
        }
        check(controller->update({}, {}) == controller_interface::return_type::OK);
        is_allowed = true;
        for (std::size_t j = 0; j < n; ++j) {
            references[j]->stub_is_locked = false;
            row[j] = commands[j]->get_optional().value();
        }
        write(row);
        if (words.has("log_every_row")) {
            node->stub_timer->call();
        }
    }
    node->stub_timer->call();
    check(controller->on_cleanup({}) == CallbackReturn::SUCCESS);
    return finish(0);
}
