// Stub of rclcpp_lifecycle.
#pragma once

#include "rclcpp/rclcpp.hpp"

namespace rclcpp_lifecycle {

struct State {};
using LifecycleNode = rclcpp::Node;

}  // namespace rclcpp_lifecycle
