/* Plausibility: what the sensors say together, and for how long. */
#include "core/monitor.h"
#include "test/check.h"

static struct monitor monitor;
static struct parameters watched;

static void begin_watching(void)
{
    monitor = (struct monitor){0};
    parameters_start(&watched);
}

static struct observation sound(uint32_t ms)
{
    return (struct observation){.now = ms * 1000, .moving = true, .flex = {32000, 32000}};
}

TEST(sensor_at_a_rail_latches_after_its_time)
{
    begin_watching();
    for (uint32_t ms = 0; ms < 40; ms++) {
        struct observation seen = sound(ms);
        seen.flex[1] = ms < 5 ? 32000 : 65000;
        uint16_t wanted = ms < 25 ? 0 : FAULT_ADC_TIP;
        CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), wanted);
    }
    struct observation seen = sound(40);
    seen.flex[1] = 10;
    CHECK(monitor_persisting(&seen, &watched) & FAULT_ADC_TIP);
    watched.value[PARAMETER_ADC_WATCH] = 1;
    CHECK(!(monitor_persisting(&seen, &watched) & FAULT_ADC_TIP));
}

TEST(lost_steps_compare_turns_of_encoder_and_stepper)
{
    begin_watching();
    monitor_trust_steps(&monitor, INT32_MAX - 10, INT32_MAX - 20);
    struct observation seen = sound(0);
    /* half a turn of both, through the wrap of both counters */
    seen.counts[1] = INT32_MIN + 1189;
    seen.steps = INT32_MIN + 1579;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), 0);
    seen.counts[1] += 32;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), 0);
    seen.counts[1] += 1;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), FAULT_LOST_STEPS);
    seen.moving = false;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), 0);
}

TEST(lost_steps_count_from_where_the_field_has_drawn_the_rotor)
{
    begin_watching();
    struct observation seen = sound(0);
    seen.counts[1] = 1000;
    monitor_armed(&monitor, &seen);
    for (uint32_t ms = 1; ms < 300; ms++) {
        seen = sound(ms);
        seen.counts[1] = 1000 - 20;
        CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), 0);
    }
    /* four full steps further is 28 counts from where it was armed */
    seen.counts[1] += 48;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), FAULT_LOST_STEPS);
    /* and meanwhile from where it was armed */
    monitor_armed(&monitor, &seen);
    seen.counts[1] += 33;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), FAULT_LOST_STEPS);
}

TEST(stall_needs_strong_duty_and_no_motion)
{
    begin_watching();
    for (uint32_t ms = 0; ms <= 700; ms++) {
        struct observation seen = sound(ms);
        seen.counts[0] = ms < 300 ? (int32_t)ms / 50 : 6;   /* 5 counts in 250 ms, then none */
        /* the window reopens at 250 ms, after 5 counts, and lasts 300 ms */
        uint16_t found = monitor_look(&monitor, &seen, &watched);
        CHECK_EQUAL(found, ms < 550 ? 0 : FAULT_STALL);
        monitor_applied(&monitor, &seen, 4000, &watched);
    }
    struct observation seen = sound(701);
    monitor_applied(&monitor, &seen, 3999, &watched);
    seen = sound(2000);
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), 0);
}

TEST(overcurrent_counts_without_a_break)
{
    begin_watching();
    for (uint32_t ms = 0; ms < 200; ms++) {
        struct observation seen = sound(ms);
        seen.current = ms == 49 ? 0 : -3001;
        CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), ms < 100 ? 0 : FAULT_OVERCURRENT);
    }
}

TEST(jump_is_a_fault_in_every_state)
{
    begin_watching();
    struct observation seen = sound(0);
    seen.moving = false;
    seen.change[0] = -200;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), 0);
    seen.change[0] = -201;
    CHECK_EQUAL(monitor_look(&monitor, &seen, &watched), FAULT_ENCODER_SLIDE);
}

int main(void)
{
    RUN(sensor_at_a_rail_latches_after_its_time);
    RUN(lost_steps_compare_turns_of_encoder_and_stepper);
    RUN(lost_steps_count_from_where_the_field_has_drawn_the_rotor);
    RUN(stall_needs_strong_duty_and_no_motion);
    RUN(overcurrent_counts_without_a_break);
    RUN(jump_is_a_fault_in_every_state);
    return 0;
}
