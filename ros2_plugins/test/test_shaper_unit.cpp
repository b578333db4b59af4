// Two impulses of a half, 0.2 s apart: the shaped motion is the mean of two samples.
#include <gmock/gmock.h>

#include <limits>

#include "flex_shaper_plugins/code_report.hpp"
#include "flex_shaper_plugins/shaper_unit.hpp"

using namespace flex_shaper_plugins;

namespace {

ShaperUnit unit_for(const std::vector<std::string> &joints, double period) {
    LoopDescription loop;
    loop.joints = joints;
    loop.period = period;
    return ShaperUnit(ShaperTables::read(TABLES), loop);
}

}  // namespace

TEST(ShaperUnit, shapes_a_step_to_two_steps) {
    ShaperUnit unit = unit_for({"joint1", "joint2"}, 0.05);
    const double start[] = {0.0, 1.0}, goal[] = {0.08, 0.96};
    ASSERT_EQ(unit.reset(start), FLEX_SHAPER_OK);
    for (int i = 0; i < 8; ++i) {
        ASSERT_EQ(unit.step(goal), FLEX_SHAPER_OK);
        EXPECT_DOUBLE_EQ(unit.position()[0], i < 4 ? 0.04 : 0.08);
        EXPECT_DOUBLE_EQ(unit.position()[1], i < 4 ? 0.98 : 0.96);
    }
    EXPECT_TRUE(unit.is_settled());
}

TEST(ShaperUnit, refuses_tables_of_another_loop) {
    EXPECT_THROW(unit_for({"joint1", "joint2"}, 0.04), SetUpError);
    EXPECT_THROW(unit_for({"joint2", "joint1"}, 0.05), SetUpError);
    EXPECT_THROW(ShaperTables::read("none.json"), SetUpError);
}

TEST(ShaperUnit, holds_the_last_good_set_point) {
    ShaperUnit unit = unit_for({"joint1", "joint2"}, 0.05);
    const double start[] = {0.0, 0.0}, jump[] = {0.2, 0.0}, speed[] = {0.0, 0.1};
    const double nothing[] = {std::numeric_limits<double>::quiet_NaN(), 0.0};
    EXPECT_EQ(unit.step(start), FLEX_SHAPER_NOT_RESET);
    EXPECT_EQ(unit.reset(start, speed), FLEX_SHAPER_IN_MOTION);
    ASSERT_EQ(unit.reset(start), FLEX_SHAPER_OK);
    EXPECT_EQ(unit.step(jump), FLEX_SHAPER_JUMP);
    EXPECT_EQ(unit.step(nothing), FLEX_SHAPER_NOT_FINITE);
    EXPECT_EQ(unit.position()[0], 0.0);
}

TEST(CodeReport, has_one_line_for_a_series_of_refused_set_points) {
    CodeReport report;
    report.add(FLEX_SHAPER_OK);
    EXPECT_EQ(report.line(), "");
    report.add(FLEX_SHAPER_JUMP);
    EXPECT_EQ(report.line(), std::string("refused set points: 1 (") +
                                 flex_shaper::message(FLEX_SHAPER_JUMP) + ")");
    report.add(FLEX_SHAPER_JUMP);
    EXPECT_EQ(report.line(), "");
    report.add(FLEX_SHAPER_OK);
    EXPECT_EQ(report.line(), "set points are accepted again");
    EXPECT_EQ(report.line(), "");
}
