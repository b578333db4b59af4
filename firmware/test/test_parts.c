/* The small parts: counters that wrap, ramps, profiles, events, limits. */
#include <string.h>

#include "core/crc32.h"
#include "core/encoder.h"
#include "core/events.h"
#include "core/homing.h"
#include "core/limits.h"
#include "core/profile.h"
#include "core/step_clock.h"
#include "core/step_ramp.h"
#include "hal/emulation/step_count.h"
#include "test/check.h"

TEST(encoder_counts_through_the_wrap_of_its_counter)
{
    struct encoder encoder;
    encoder_start(&encoder, 65530);
    encoder_update(&encoder, 4, false);
    CHECK_EQUAL(encoder.counts, 10);
    encoder_update(&encoder, 65500, false);
    CHECK_EQUAL(encoder.counts, -30);
    CHECK_EQUAL(encoder.change, -40);
}

TEST(encoder_count_wraps_at_32_bits)
{
    struct encoder encoder;
    encoder_start(&encoder, 0);
    encoder_set_origin(&encoder, INT32_MAX - 5);
    encoder_update(&encoder, 10, false);
    CHECK_EQUAL(encoder.counts, (int64_t)INT32_MIN + 4);
}

TEST(reversed_encoder_counts_the_other_way)
{
    struct encoder encoder;
    encoder_start(&encoder, 100);
    encoder_update(&encoder, 130, true);
    CHECK_EQUAL(encoder.counts, -30);
}

TEST(ramp_changes_by_acceleration_times_time)
{
    /* 32,000 steps/s2 for 1 ms: 32 steps/s */
    CHECK_EQUAL(step_ramp(0, 1000000, 32000, 1000), 32000);
    CHECK_EQUAL(step_ramp(0, -1000000, 32000, 1000), -32000);
    CHECK_EQUAL(step_ramp(990000, 1000000, 32000, 1000), 1000000);
    CHECK_EQUAL(step_ramp(16000, -16000, 32000, 1000), -16000);
}

TEST(ramp_holds_with_the_largest_values)
{
    CHECK_EQUAL(step_ramp(-50000000, 50000000, 1000000, UINT32_MAX), 50000000);
}

TEST(pulses_are_rate_times_time)
{
    struct step_count steps = {0};
    step_count_set_rate(&steps, 333000);                /* 333 steps/s */
    for (int i = 0; i < 3000; i++) {
        step_count_advance(&steps, 1000);
    }
    CHECK_EQUAL(steps.count, 999);
    step_count_set_rate(&steps, -333000);
    for (int i = 0; i < 3000; i++) {
        step_count_advance(&steps, 1000);
    }
    CHECK_EQUAL(steps.count, 0);
}

TEST(clock_keeps_its_grid_through_the_wrap)
{
    struct step_clock clock;
    step_clock_start(&clock, UINT32_MAX - 1500);
    unsigned steps = 0;
    for (uint32_t passed = 0; passed < 10500; passed += 100) {
        steps += step_clock_begins(&clock, UINT32_MAX - 1500 + passed);
    }
    CHECK_EQUAL(steps, 10);
    CHECK_EQUAL(clock.late_steps, 0);
    CHECK_EQUAL(clock.uptime, 10000);
}

TEST(late_steps_are_counted_and_not_raced_after)
{
    struct step_clock clock;
    step_clock_start(&clock, 0);
    CHECK(step_clock_begins(&clock, 8300));
    CHECK_EQUAL(clock.lateness, 7300);
    CHECK_EQUAL(clock.late_steps, 1);
    CHECK(!step_clock_begins(&clock, 8900));
    CHECK(step_clock_begins(&clock, 9000));
    CHECK_EQUAL(clock.lateness, 0);
}

TEST(longest_step_is_kept)
{
    struct step_clock clock;
    step_clock_start(&clock, 0);
    step_clock_begins(&clock, 1000);
    step_clock_ends(&clock, 1400);
    step_clock_begins(&clock, 2000);
    step_clock_ends(&clock, 2100);
    CHECK_EQUAL(clock.longest, 400);
}

static struct profile_load_frame chunk_of(struct segment *segments, uint16_t first, uint16_t total)
{
    struct profile_load_frame chunk = {.first = first, .total = total};
    chunk.crc = crc32_add(0, segments, total * sizeof *segments);
    for (int i = 0; i < SEGMENTS_PER_CHUNK && first + i < total; i++) {
        chunk.segments[i] = segments[first + i];
    }
    return chunk;
}

static struct profile load_eleven(void)
{
    struct segment segments[11];
    struct profile profile = {0};
    for (int i = 0; i < 11; i++) {
        segments[i] = (struct segment){1500, (int16_t)i, 1000 * i};
    }
    struct profile_load_frame first = chunk_of(segments, 0, 11), second = chunk_of(segments, 8, 11);
    CHECK(profile_load(&profile, &first));
    CHECK(!profile_is_complete(&profile));
    CHECK(profile_load(&profile, &second));
    CHECK(profile_is_complete(&profile));
    return profile;
}

TEST(switching_instants_of_a_profile_do_not_add_up_rounding)
{
    struct profile profile = load_eleven();
    profile_start(&profile);
    CHECK_EQUAL(profile_advance(&profile, 0)->duty, 0);
    for (int ms = 1; ms < 17; ms++) {
        const struct segment *segment = profile_advance(&profile, 1000);
        /* segment k holds from 1.5 k on */
        CHECK_EQUAL(segment->duty, ms * 10 / 15);
    }
    CHECK(profile_advance(&profile, 1000) == NULL);
}

TEST(profile_may_outlast_the_clock)
{
    struct profile profile = load_eleven();
    for (int i = 0; i < 11; i++) {
        profile.segments[i].duration = SEGMENT_MAX_US;
    }
    profile_start(&profile);
    CHECK_EQUAL(profile_advance(&profile, 10 * SEGMENT_MAX_US)->duty, 10);
    profile.elapsed += (uint64_t)1 << 32;
    CHECK(profile_advance(&profile, 0) == NULL);
}

TEST(profile_chunk_out_of_order_drops_everything)
{
    struct segment segments[11] = {{.duration = 1000}};
    struct profile profile = {0};
    struct profile_load_frame first = chunk_of(segments, 0, 11), second = chunk_of(segments, 8, 11);
    CHECK(!profile_load(&profile, &second));
    CHECK(profile_load(&profile, &first));
    second.crc ^= 1;
    CHECK(!profile_load(&profile, &second));
    CHECK_EQUAL(profile.held, 0);
    CHECK_EQUAL(profile.total, 0);
}

TEST(damaged_profile_is_never_complete)
{
    struct segment segments[3] = {{1000, 1, 2}, {2000, 3, 4}, {3000, 5, 6}};
    struct profile profile = {0};
    struct profile_load_frame chunk = chunk_of(segments, 0, 3);
    chunk.segments[1].duty ^= 4;
    CHECK(!profile_load(&profile, &chunk));
    CHECK(!profile_is_complete(&profile));
}

TEST(events_go_out_one_by_one_and_again_until_acknowledged)
{
    struct events events = {0};
    events_add(&events, (struct event_frame){.kind = EVENT_KIND_BOOT});
    events_add(&events, (struct event_frame){.kind = EVENT_KIND_STATE});
    CHECK_EQUAL(events_due(&events, 0)->kind, EVENT_KIND_BOOT);
    events_sent(&events, 0);
    CHECK(events_due(&events, 99999) == NULL);
    CHECK_EQUAL(events_due(&events, 100000)->kind, EVENT_KIND_BOOT);
    events_acknowledge(&events, 1);
    CHECK(events_due(&events, 99999) == NULL);
    events_acknowledge(&events, 0);
    CHECK_EQUAL(events_due(&events, 99999)->number, 1);
    events_acknowledge(&events, 1);
    CHECK(events_due(&events, 200000) == NULL);
}

TEST(events_beyond_capacity_are_counted_and_keep_their_number)
{
    struct events events = {0};
    for (int i = 0; i < EVENT_CAPACITY + 3; i++) {
        events_add(&events, (struct event_frame){0});
    }
    CHECK_EQUAL(events.lost, 3);
    for (uint16_t i = 0; i < EVENT_CAPACITY; i++) {
        events_acknowledge(&events, i);
    }
    events_add(&events, (struct event_frame){0});
    CHECK_EQUAL(events_due(&events, 0)->number, EVENT_CAPACITY + 3);
}

TEST(homing_goes_to_the_switch_waits_until_it_has_settled_and_goes_off_it)
{
    struct homing homing;
    homing_start(&homing, JOINT_TURN, 1000);
    CHECK_EQUAL(homing_advance(&homing, false, 1000, 500), HOMING_GOES_ON);
    CHECK_EQUAL(homing_direction(&homing), -1);
    CHECK_EQUAL(homing_advance(&homing, true, 2000, 500), HOMING_GOES_ON);
    CHECK_EQUAL(homing_direction(&homing), 0);
    CHECK_EQUAL(homing_advance(&homing, true, 21999, 500), HOMING_GOES_ON);
    CHECK_EQUAL(homing_direction(&homing), 0);
    CHECK_EQUAL(homing_advance(&homing, true, 22000, 500), HOMING_GOES_ON);
    CHECK_EQUAL(homing_direction(&homing), 1);
    CHECK_EQUAL(homing_advance(&homing, false, 23000, 500), HOMING_FOUND);
}

TEST(homing_takes_no_bounce_of_the_switch_for_its_edge)
{
    struct homing homing;
    homing_start(&homing, JOINT_SLIDE, 0);
    for (uint32_t now = 0; now < 50000; now += 1000) {
        /* two bounces, of which the second is over at 9 ms */
        bool closed = now != 5000 && now != 8000;
        CHECK_EQUAL(homing_advance(&homing, closed, now, 500), HOMING_GOES_ON);
        CHECK_EQUAL(homing_direction(&homing), closed ? now >= 29000 : -1);
    }
}

TEST(homing_ends_in_time)
{
    struct homing homing;
    homing_start(&homing, JOINT_SLIDE, UINT32_MAX - 100);
    CHECK_EQUAL(homing_advance(&homing, false, 499899, 500), HOMING_GOES_ON);
    CHECK_EQUAL(homing_advance(&homing, false, 500900, 500), HOMING_TOO_LONG);
}

TEST(limits_forbid_only_motion_further_out)
{
    struct parameters parameters;
    parameters_start(&parameters);
    struct encoder encoder = {.counts = 88500, .homed = true};
    CHECK(limits_soft_forbids(&encoder, JOINT_SLIDE, 1, &parameters));
    CHECK(!limits_soft_forbids(&encoder, JOINT_SLIDE, -1, &parameters));
    encoder.homed = false;
    CHECK(!limits_soft_forbids(&encoder, JOINT_SLIDE, 1, &parameters));
    CHECK(limits_switch_forbids(INPUT_TURN_LOWER, JOINT_TURN, -1));
    CHECK(!limits_switch_forbids(INPUT_TURN_LOWER, JOINT_TURN, 1));
    CHECK(!limits_switch_forbids(INPUT_TURN_LOWER, JOINT_TURN, 0));
    CHECK(!limits_switch_forbids(INPUT_TURN_LOWER, JOINT_SLIDE, -1));
}

TEST(parameters_keep_to_their_range)
{
    struct parameters parameters;
    parameters_start(&parameters);
    CHECK_EQUAL(parameters.value[PARAMETER_STALL_TIME], 300);
    CHECK(!parameters_write(&parameters, PARAMETER_STALL_TIME, 9));
    CHECK(!parameters_write(&parameters, PARAMETER_STALL_TIME, 10001));
    CHECK(!parameters_write(&parameters, PARAMETER_COUNT, 0));
    CHECK_EQUAL(parameters.value[PARAMETER_STALL_TIME], 300);
    CHECK(parameters_write(&parameters, PARAMETER_STALL_TIME, 10));
    CHECK_EQUAL(parameters.value[PARAMETER_STALL_TIME], 10);
}

int main(void)
{
    RUN(encoder_counts_through_the_wrap_of_its_counter);
    RUN(encoder_count_wraps_at_32_bits);
    RUN(reversed_encoder_counts_the_other_way);
    RUN(ramp_changes_by_acceleration_times_time);
    RUN(ramp_holds_with_the_largest_values);
    RUN(pulses_are_rate_times_time);
    RUN(clock_keeps_its_grid_through_the_wrap);
    RUN(late_steps_are_counted_and_not_raced_after);
    RUN(longest_step_is_kept);
    RUN(switching_instants_of_a_profile_do_not_add_up_rounding);
    RUN(profile_may_outlast_the_clock);
    RUN(profile_chunk_out_of_order_drops_everything);
    RUN(damaged_profile_is_never_complete);
    RUN(events_go_out_one_by_one_and_again_until_acknowledged);
    RUN(events_beyond_capacity_are_counted_and_keep_their_number);
    RUN(homing_goes_to_the_switch_waits_until_it_has_settled_and_goes_off_it);
    RUN(homing_takes_no_bounce_of_the_switch_for_its_edge);
    RUN(homing_ends_in_time);
    RUN(limits_forbid_only_motion_further_out);
    RUN(parameters_keep_to_their_range);
    return 0;
}
