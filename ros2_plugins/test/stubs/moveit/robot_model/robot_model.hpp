// Stub of the robot model of MoveIt: one planning group of single joints.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace moveit::core {

struct VariableBounds {
    double min_position_ = -std::numeric_limits<double>::infinity();
    double max_position_ = std::numeric_limits<double>::infinity();
    bool position_bounded_ = false;
};

class JointModelGroup {
public:
    const std::vector<std::string> &getActiveJointModelNames() const { return stub_joints; }
    const std::vector<std::string> &getLinkModelNames() const { return stub_links; }

    std::vector<std::string> stub_joints, stub_links;
};

class RobotModel {
public:
    bool hasLinkModel(const std::string &name) const {
        for (const std::string &link : stub_group.stub_links) {
            if (link == name) {
                return true;
            }
        }
        return false;
    }
    bool hasJointModelGroup(const std::string &name) const { return name == "arm"; }
    const JointModelGroup *getJointModelGroup(const std::string &) const { return &stub_group; }
    const VariableBounds &getVariableBounds(const std::string &name) const {
        return stub_bounds.at(name);
    }

    JointModelGroup stub_group;
    std::map<std::string, VariableBounds> stub_bounds;
};
using RobotModelConstPtr = std::shared_ptr<const RobotModel>;

}  // namespace moveit::core
