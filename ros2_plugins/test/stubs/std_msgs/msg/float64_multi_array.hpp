// Stub of std_msgs.
#pragma once

#include <memory>
#include <vector>

namespace std_msgs::msg {

struct Float64MultiArray {
    using SharedPtr = std::shared_ptr<Float64MultiArray>;
    std::vector<double> data;
};

}  // namespace std_msgs::msg
