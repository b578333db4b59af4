"""Headers in place of those that generate_parameter_library makes of the parameter files."""

from __future__ import annotations

import json

import yaml

TYPES = {
    'string': 'std::string',
    'string_array': 'std::vector<std::string>',
    'double': 'double',
    'bool': 'bool',
}
CONDITIONS = {'not_empty<>', 'unique<>', 'gt<>', 'gt_eq<>'}
HEADER = """\
#pragma once
#include <stdexcept>
#include <string>
#include <vector>
#include "rclcpp/rclcpp.hpp"
namespace {name} {{
struct Params {{
{members}
}};
class ParamListener {{
public:
    explicit ParamListener(const std::shared_ptr<rclcpp::Node> &node,
                           const std::string &prefix = "")
        : node_(node), prefix_(prefix.empty() ? "" : prefix + ".") {{}}
    Params get_params() const {{
        Params all;
{reads}
        return all;
    }}

private:
    template <typename Value>
    void read(const std::string &name, Value &value) const {{
        if (node_->has_parameter(prefix_ + name))
            value = node_->get_parameter(prefix_ + name).template get_value<Value>();
    }}
    std::shared_ptr<rclcpp::Node> node_;
    std::string prefix_;
}};
}}
"""


def parameters(tree, path=()):
    """Yield the path and the description of each parameter of a tree."""
    for name, item in tree.items():
        if 'type' in item:
            yield (*path, name), item
        else:
            yield from parameters(item, (*path, name))


def _members(tree):
    for name, item in tree.items():
        if 'type' not in item:
            yield f'struct {{ {" ".join(_members(item))} }} {name};'
            continue
        value = json.dumps(item['default_value']).replace('[', '{').replace(']', '}')
        yield f'{TYPES[item["type"]]} {name} = {value};'


def parameter_header(text):
    """Return the name and the C++ header of a parameter file."""
    ((name, tree),) = yaml.safe_load(text).items()
    paths = ['.'.join(path) for path, _ in parameters(tree)]
    reads = '\n'.join(f'        read("{path}", all.{path});' for path in paths)
    return name, HEADER.format(name=name, members='\n'.join(_members(tree)), reads=reads)
