// Stub of the logger of MoveIt.
#pragma once

#include <string>

#include "rclcpp/rclcpp.hpp"

namespace moveit {

inline rclcpp::Logger getLogger(const std::string &) { return {}; }

}  // namespace moveit
