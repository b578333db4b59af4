// Runs the logic of ros2_plugins on numbers from standard input, for test_plugin_logic.py.
//
// usage: stream unit PERIOD TABLES JOINT...      a row of output is a code and the positions
//        stream servo PERIOD TABLES JOINT...     velocities in; a row is a code, positions, velocities
//        stream trajectory PERIOD TABLES JOINT...  rows of time, positions, velocities in; the same out
//        stream lines PERIOD TABLES JOINT...     the same without velocities in
//        stream deviation WINDOW SHAPED          points in: SHAPED shaped ones, then planned ones
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "flex_shaper_plugins/path_deviation.hpp"
#include "flex_shaper_plugins/servo_shaper.hpp"
#include "flex_shaper_plugins/trajectory_shaper.hpp"

#include "watched_memory.hpp"

namespace {

using namespace flex_shaper_plugins;

std::vector<double> read_all() {
    std::vector<double> values;
    double block[4096];
    std::size_t count;
    while ((count = std::fread(block, sizeof(double), 4096, stdin)) > 0) {
        values.insert(values.end(), block, block + count);
    }
    return values;
}

void write(const double *values, std::size_t count) {
    std::fwrite(values, sizeof(double), count, stdout);
}

ShaperUnit unit_of(int argc, char **argv) {
    LoopDescription loop;
    loop.joints.assign(argv + 4, argv + argc);
    loop.period = std::atof(argv[2]);
    return ShaperUnit(ShaperTables::read(argv[3], loop.joints), loop);
}

/// Shape rows after a reset at the first one.
void stream(ShaperUnit unit, const std::vector<double> &values) {
    const std::size_t n = unit.joints();
    std::vector<double> row(n + 1);
    is_allowed = false;
    for (std::size_t i = 0; i + n <= values.size(); i += n) {
        row[0] = i == 0 ? unit.reset(values.data()) : unit.step(values.data() + i);
        if (i > 0) {
            std::copy(unit.position(), unit.position() + n, row.begin() + 1);
            write(row.data(), n + 1);
        }
    }
    is_allowed = true;
}

/// The first row is the position of the reset, the others are velocities.
void stream_servo(ShaperUnit unit, const std::vector<double> &values) {
    ServoShaper servo(std::move(unit));
    const std::size_t n = servo.joints();
    std::vector<double> row(2 * n + 1), rest(n);
    servo.limit(0, -1.0, 1.0);
    is_allowed = false;
    for (std::size_t i = 0; i + n <= values.size(); i += n) {
        row[0] = i == 0 ? servo.reset(values.data(), rest.data()) : servo.step(values.data() + i);
        std::copy(servo.position(), servo.position() + n, row.begin() + 1);
        std::copy(servo.velocity(), servo.velocity() + n, row.data() + 1 + n);
        write(row.data(), row.size());
    }
    is_allowed = true;
}

void shape_trajectory(ShaperUnit unit, const std::vector<double> &values, bool has_velocities) {
    const std::size_t n = unit.joints(), width = has_velocities ? 2 * n + 1 : n + 1;
    Waypoints waypoints;
    for (const double *row = values.data(); row + width <= values.data() + values.size();
         row += width) {
        waypoints.times.push_back(row[0]);
        waypoints.positions.emplace_back(row + 1, row + 1 + n);
        if (has_velocities) {
            waypoints.velocities.emplace_back(row + 1 + n, row + 1 + 2 * n);
        }
    }
    check(waypoints, n);
    const Samples samples = shaped(unit, resampled(waypoints, unit.period()));
    for (std::size_t i = 0; i < samples.positions.size(); ++i) {
        const double time = static_cast<double>(i) * samples.period;
        write(&time, 1);
        write(samples.positions[i].data(), n);
        write(samples.velocities[i].data(), n);
    }
}

void print_deviation(std::size_t window, std::size_t count, const std::vector<double> &values) {
    std::vector<Point> points;
    for (std::size_t i = 0; i + 3 <= values.size(); i += 3) {
        points.push_back({values[i], values[i + 1], values[i + 2]});
    }
    const auto middle = points.begin() + static_cast<std::ptrdiff_t>(count);
    const double found = path_deviation({points.begin(), middle}, {middle, points.end()}, window);
    write(&found, 1);
}

}  // namespace

int main(int argc, char **argv) {
    const std::string mode = argv[1];
    try {
        const std::vector<double> values = read_all();
        if (mode == "deviation") {
            print_deviation(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10),
                            values);
        } else if (mode == "unit") {
            stream(unit_of(argc, argv), values);
        } else if (mode == "servo") {
            stream_servo(unit_of(argc, argv), values);
        } else {
            shape_trajectory(unit_of(argc, argv), values, mode == "trajectory");
        }
    } catch (const SetUpError &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
