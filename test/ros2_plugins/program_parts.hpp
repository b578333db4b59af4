// Input, output and arguments of the programs of test_plugins.py.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <rclcpp/rclcpp.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "watched_memory.hpp"

inline void check(bool is_good) {
    if (!is_good) {
        std::abort();
    }
}

inline std::vector<double> read_all() {
    std::vector<double> values;
    double block[4096];
    std::size_t count;
    while ((count = std::fread(block, sizeof(double), 4096, stdin)) > 0) {
        values.insert(values.end(), block, block + count);
    }
    return values;
}

inline void write(const std::vector<double> &row) {
    std::fwrite(row.data(), sizeof(double), row.size(), stdout);
}

/// Print the log of the plugin, and return the exit code.
inline int finish(int code) {
    for (const std::string &line : rclcpp::stub_log()) {
        std::fprintf(stderr, "%s\n", line.c_str());
    }
    return code;
}

inline std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
        words.push_back(word);
    }
    return words;
}

/// Arguments NAME=VALUE, or NAME alone.
class Words {
public:
    Words(int argc, char **argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string word = argv[i];
            const std::size_t end = word.find('=');
            words_[word.substr(0, end)] = end == std::string::npos ? "" : word.substr(end + 1);
        }
    }

    bool has(const std::string &name) const { return words_.count(name) > 0; }
    std::string text(const std::string &name, const std::string &missing) const {
        return has(name) ? words_.at(name) : missing;
    }
    double number(const std::string &name, double missing = 0.0) const {
        return has(name) ? std::atof(words_.at(name).c_str()) : missing;
    }

    /// Set the parameters of a node to words such as `joints:list=a,b`.
    void set_parameters(std::map<std::string, rclcpp::StubValue> &parameters) const {
        for (const auto &[word, text] : words_) {
            const std::size_t end = word.find(':');
            const std::string name = word.substr(0, end);
            const std::string kind = end == std::string::npos ? "" : word.substr(end + 1);
            if (kind == "list") {
                parameters[name] = split(text);
            } else if (kind == "text") {
                parameters[name] = text;
            } else if (kind == "number") {
                parameters[name] = std::atof(text.c_str());
            } else if (kind == "flag") {
                parameters[name] = text == "true";
            }
        }
    }

private:
    std::map<std::string, std::string> words_;
};
