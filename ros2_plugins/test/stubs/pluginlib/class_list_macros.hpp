// Stub of pluginlib: a function that makes the plugin of this file.
#pragma once

#include <memory>

#define PLUGINLIB_EXPORT_CLASS(plugin, base)                                                      \
    std::unique_ptr<base> stub_plugin() { return std::make_unique<plugin>(); }
