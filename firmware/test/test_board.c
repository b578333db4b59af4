/*
 * The whole board on a bench in memory, under sanitizers: the rules of safety, and then a storm of
 * frames, noise and broken sensors in which they must hold all the same.
 */
#include "core/crc32.h"
#include "test/bench.h"
#include "test/check.h"

static uint16_t sequence;

static void command(uint8_t id, const void *fields)
{
    send(id, board.outbox.session, ++sequence, fields);
    step();
}

static void setpoint(uint8_t mode, int16_t duty, int32_t step_rate, uint16_t validity)
{
    struct setpoint_frame frame = {mode, duty, step_rate, validity};
    send(FRAME_SETPOINT, board.outbox.session, ++sequence, &frame);
    step();
}

static void power_up_and_arm(void)
{
    power_up(0);
    hello(1);
    command(FRAME_ARM, NULL);
    CHECK_EQUAL(board.state, STATE_ARMED);
}

static void check_off(void)
{
    CHECK(!bench.bridge && !bench.stepper);
    CHECK_EQUAL(bench.duty, 0);
    CHECK_EQUAL(bench.rate, 0);
}

TEST(boot_is_disarmed_and_off)
{
    power_up(0);
    for (int i = 0; i < 50; i++) {
        step();
        check_off();
    }
    CHECK_EQUAL(board.state, STATE_DISARMED);
    CHECK_EQUAL(bench.to_host_size, 0);
}

TEST(board_that_fails_its_self_test_cannot_be_cleared)
{
    struct hal_identity identity = {.boot_id = 1, .healthy = false};
    power_up(0);
    board_start(&board, &identity);
    CHECK_EQUAL(board.state, STATE_FAULT);
    hello(1);
    command(FRAME_CLEAR, NULL);
    CHECK_EQUAL(board.faults, FAULT_SELF_TEST);
    CHECK_EQUAL(board.session.result, RESULT_CAUSE_PERSISTS);
}

TEST(motors_are_off_100_ms_after_the_last_set_point_and_stay_off)
{
    power_up_and_arm();
    setpoint(MODE_DRIVE, 5000, 1000000, 100);
    uint32_t taken = bench.time;
    while (bench.bridge || bench.stepper) {
        bench.sensors.encoder[0]++;             /* it moves, so that nothing else stops it */
        bench.sensors.encoder[1] = (uint16_t)(bench.steps.count * 3 / 4);
        step();
        CHECK(bench.time - taken <= 100000);
    }
    check_off();
    CHECK_EQUAL(board.faults, FAULT_WATCHDOG);
    for (int i = 0; i < 300; i++) {
        setpoint(MODE_DRIVE, 5000, 1000000, 100);
        check_off();
    }
    CHECK_EQUAL(board.setpoint.last_refusal, RESULT_LATCHED);
    command(FRAME_ARM, NULL);
    CHECK_EQUAL(board.session.result, RESULT_LATCHED);
    command(FRAME_CLEAR, NULL);
    CHECK_EQUAL(board.state, STATE_DISARMED);
    check_off();
    command(FRAME_ARM, NULL);
    CHECK_EQUAL(board.state, STATE_ARMED);
    CHECK_EQUAL(bench.duty, 0);                 /* what was asked before is forgotten */
    CHECK_EQUAL(bench.rate, 0);
}

TEST(watchdog_works_through_the_wrap_of_the_clock)
{
    power_up(UINT32_MAX - 50000);
    hello(1);
    command(FRAME_ARM, NULL);
    uint32_t armed = bench.time;
    while (bench.bridge) {
        step();
        CHECK(bench.time - armed <= 100000);
    }
    CHECK(bench.time < armed);
}

TEST(set_point_never_arms)
{
    power_up(0);
    hello(1);
    setpoint(MODE_DRIVE, 5000, 0, 100);
    CHECK_EQUAL(board.state, STATE_DISARMED);
    CHECK_EQUAL(board.setpoint.last_refusal, RESULT_NOT_ARMED);
    check_off();
}

TEST(end_of_validity_stands_and_is_no_fault)
{
    power_up_and_arm();
    setpoint(MODE_DRIVE, 3000, 0, 10);
    for (int ms = 0; ms < 9; ms++) {
        CHECK_EQUAL(bench.duty, 3000);
        step();
    }
    step();
    CHECK_EQUAL(bench.duty, 0);
    CHECK_EQUAL(board.state, STATE_ARMED);
    CHECK(bench.bridge);
}

TEST(arming_forgets_a_set_point_that_is_still_valid)
{
    power_up_and_arm();
    setpoint(MODE_DRIVE, 3000, 1600000, 100);
    command(FRAME_DISARM, NULL);
    check_off();
    command(FRAME_ARM, NULL);
    step();
    CHECK(bench.bridge && bench.stepper);
    CHECK_EQUAL(bench.duty, 0);
    CHECK_EQUAL(bench.rate, 0);
}

TEST(nothing_is_commanded_before_the_first_hello)
{
    power_up(0);
    send(FRAME_ARM, NO_SESSION, 1, NULL);
    step();
    CHECK_EQUAL(board.state, STATE_DISARMED);
}

TEST(stop_command_is_taken_in_every_session)
{
    power_up_and_arm();
    send(FRAME_ESTOP, 99, 0, NULL);
    step();
    CHECK_EQUAL(board.state, STATE_FAULT);
    check_off();
}

TEST(stop_button_is_over_all_and_cannot_be_cleared_while_pressed)
{
    power_up_and_arm();
    setpoint(MODE_DRIVE, 3000, 0, 100);
    bench.sensors.inputs = INPUT_STOP_BUTTON;
    step();
    check_off();
    command(FRAME_CLEAR, NULL);
    CHECK_EQUAL(board.session.result, RESULT_CAUSE_PERSISTS);
    bench.sensors.inputs = 0;
    command(FRAME_CLEAR, NULL);
    CHECK_EQUAL(board.state, STATE_DISARMED);
    check_off();
}

TEST(new_session_disarms)
{
    power_up_and_arm();
    uint8_t before = board.outbox.session;
    hello(2);
    CHECK_EQUAL(board.state, STATE_DISARMED);
    check_off();
    CHECK_EQUAL(before, 255);                   /* 1 + 254 modulo 255 */
    CHECK_EQUAL(board.outbox.session, 1);
    hello(2);
    CHECK_EQUAL(board.outbox.session, 1);
}

TEST(command_of_an_old_session_is_refused)
{
    power_up(0);
    hello(1);
    uint8_t old = board.outbox.session;
    hello(2);
    send(FRAME_ARM, old, ++sequence, NULL);
    step();
    CHECK_EQUAL(board.state, STATE_DISARMED);
}

TEST(repeated_command_is_carried_out_once)
{
    power_up(0);
    hello(1);
    send(FRAME_ARM, board.outbox.session, 7, NULL);
    step();
    send(FRAME_DISARM, board.outbox.session, 8, NULL);
    step();
    send(FRAME_ARM, board.outbox.session, 7, NULL);
    step();
    CHECK_EQUAL(board.state, STATE_DISARMED);
    send(FRAME_DISARM, board.outbox.session, 8, NULL);
    step();
    CHECK_EQUAL(board.session.result, RESULT_ACCEPTED);
}

TEST(other_schema_is_read_only)
{
    struct hello_frame other = {PROTOCOL_MAJOR, 0, SCHEMA_CRC + 1, 5};
    power_up(0);
    send(FRAME_HELLO, 0, 0, &other);
    step();
    command(FRAME_ARM, NULL);
    CHECK_EQUAL(board.session.result, RESULT_READ_ONLY);
    CHECK_EQUAL(board.state, STATE_DISARMED);
    command(FRAME_STREAM, &(struct stream_frame){100});
    CHECK_EQUAL(board.session.result, RESULT_ACCEPTED);
}

TEST(pulses_towards_a_switch_end_at_once_and_latch)
{
    power_up_and_arm();
    for (int i = 0; i < 50; i++) {
        bench.sensors.encoder[1] = (uint16_t)(bench.steps.count * 3 / 4);
        setpoint(MODE_DRIVE, 0, 1600000, 100);
    }
    CHECK_EQUAL(bench.rate, 1600000);
    bench.sensors.inputs = INPUT_TURN_UPPER;
    setpoint(MODE_DRIVE, 0, 1600000, 100);
    check_off();
    CHECK_EQUAL(board.faults, FAULT_LIMIT_TURN);
    command(FRAME_CLEAR, NULL);
    command(FRAME_ARM, NULL);
    setpoint(MODE_DRIVE, 0, 1600000, 100);
    CHECK_EQUAL(bench.rate, 0);
    setpoint(MODE_DRIVE, 0, -1600000, 100);
    CHECK_EQUAL(bench.rate, -32000);
    CHECK_EQUAL(board.state, STATE_ARMED);
}

TEST(homing_turns_round_at_its_switch_without_a_pulse_towards_it)
{
    power_up_and_arm();
    command(FRAME_HOME, &(struct home_frame){JOINT_TURN});
    for (int i = 0; i < 20; i++) {
        setpoint(MODE_ALIVE, 0, 0, 100);
    }
    CHECK_EQUAL(bench.rate, -320000);
    bench.sensors.inputs = INPUT_TURN_LOWER;
    setpoint(MODE_ALIVE, 0, 0, 100);
    CHECK_EQUAL(board.state, STATE_HOMING);
    CHECK_EQUAL(bench.rate, 32000);             /* from 0 on: one step of the ramp away from it */
    bench.sensors.inputs = 0;
    setpoint(MODE_ALIVE, 0, 0, 100);
    CHECK_EQUAL(board.state, STATE_ARMED);
    CHECK_EQUAL(board.encoder[JOINT_TURN].counts, -573);
}

TEST(answers_have_room_where_telemetry_has_none)
{
    power_up(0);
    hello(1);
    command(FRAME_STREAM, &(struct stream_frame){1000});
    bench.room = 300;
    uint16_t sent = board.outbox.sequence;
    uint32_t dropped = board.outbox.dropped;
    command(FRAME_DISARM, NULL);
    CHECK_EQUAL(board.outbox.sequence, sent + 1);
    CHECK_EQUAL(board.outbox.dropped, dropped + 1);
}

/* xorshift32, Marsaglia 2003 */
static uint32_t random_state;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % bound;
}

static void random_bytes(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)random_below(256);
    }
}

/* All that it takes to play a profile, which hardly ever comes together by chance. */
static void send_a_profile(void)
{
    uint8_t session = board.outbox.session;
    struct segment segment = {20000, 3000, 1600000};
    struct profile_load_frame load = {.total = 1, .crc = crc32_add(0, &segment, sizeof segment)};
    load.segments[0] = segment;
    send(FRAME_CLEAR, session, ++sequence, NULL);
    for (uint8_t joint = JOINT_SLIDE; joint <= JOINT_TURN; joint++) {
        send(FRAME_ZERO, session, ++sequence, &(struct zero_frame){joint, 0});
    }
    send(FRAME_PROFILE_LOAD, session, ++sequence, &load);
    send(FRAME_ARM, session, ++sequence, NULL);
    send(FRAME_PROFILE_START, session, ++sequence, &(struct profile_start_frame){load.crc});
}

/* Fields that are mostly in range, or nearly nothing would ever move. */
static void send_something(void)
{
    static const uint8_t IDS[] = {
        FRAME_HELLO, FRAME_TIME, FRAME_EVENT_ACK, FRAME_SETPOINT, FRAME_ARM, FRAME_DISARM,
        FRAME_CLEAR, FRAME_HOME, FRAME_ZERO, FRAME_PARAM, FRAME_PROFILE_LOAD, FRAME_PROFILE_START,
        FRAME_STREAM, FRAME_ESTOP, FRAME_ARM, FRAME_CLEAR, FRAME_SETPOINT, FRAME_SETPOINT,
    };
    uint8_t id = IDS[random_below(sizeof IDS)], fields[FIELDS_LONGEST];
    random_bytes(fields, sizeof fields);
    if (id == FRAME_SETPOINT) {
        struct setpoint_frame frame = {
            (uint8_t)random_below(3), (int16_t)((int)random_below(24000) - 12000),
            (int32_t)random_below(14000000) - 7000000, (uint16_t)random_below(120)};
        memcpy(fields, &frame, sizeof frame);
    } else if (id == FRAME_HOME || id == FRAME_ZERO || id == FRAME_PARAM) {
        fields[0] = (uint8_t)random_below(3);
    } else if ((id == FRAME_ESTOP || id == FRAME_HELLO) && random_below(8)) {
        return;
    }
    if (id == FRAME_HELLO && random_below(4)) {
        struct hello_frame frame = {PROTOCOL_MAJOR, 0, SCHEMA_CRC, random_below(1000)};
        memcpy(fields, &frame, sizeof frame);
    }
    if (id == FRAME_PARAM) {
        fields[1] = (uint8_t)random_below(PARAMETER_COUNT + 1);
        int32_t value = (int32_t)random_below(20000) - 1000;
        memcpy(fields + 2, &value, sizeof value);
    }
    uint8_t session = random_below(16) ? board.outbox.session : (uint8_t)random_below(256);
    send(id, session, random_below(16) ? ++sequence : (uint16_t)random_below(65536), fields);
}

static void break_something(void)
{
    struct hal_sensors *sensors = &bench.sensors;
    switch (random_below(12)) {
    case 0: sensors->encoder[random_below(2)] = (uint16_t)random_below(65536); break;
    case 1: sensors->flex[random_below(2)] = random_below(65521); break;
    case 2: sensors->flex[0] = sensors->flex[1] = 32000; break;
    case 3: sensors->inputs = (uint8_t)random_below(32); break;
    case 4: sensors->current = (int32_t)random_below(100000) - 50000; break;
    case 5: bench.room = random_below(1000); break;
    case 6: bench.time += random_below(20000); break;
    default:
        sensors->inputs = 0;
        sensors->current = 0;
        bench.room = SIZE_MAX;
    }
}

static void check_rules(void)
{
    bool moving = board.state == STATE_ARMED || board.state == STATE_HOMING
        || board.state == STATE_PROFILE;
    CHECK(board.state >= STATE_DISARMED && board.state <= STATE_FAULT);
    CHECK_EQUAL(board.state == STATE_FAULT, board.faults != 0);
    CHECK_EQUAL(bench.bridge, moving);
    CHECK_EQUAL(bench.stepper, moving);
    CHECK(moving || (bench.duty == 0 && bench.rate == 0));
    if (moving) {
        CHECK(!(bench.sensors.inputs & INPUT_STOP_BUTTON));
        CHECK(bench.duty >= -board.parameters.value[PARAMETER_DUTY_MAX]
              && bench.duty <= board.parameters.value[PARAMETER_DUTY_MAX]);
        uint8_t closed = board.switches;
        CHECK(!(closed & INPUT_SLIDE_UPPER && bench.duty > 0));
        CHECK(!(closed & INPUT_SLIDE_LOWER && bench.duty < 0));
        CHECK(!(closed & INPUT_TURN_UPPER && bench.rate > 0));
        CHECK(!(closed & INPUT_TURN_LOWER && bench.rate < 0));
        CHECK(bench.time - board.setpoint.taken < 100000);
    }
}

TEST(rules_of_safety_hold_in_a_storm)
{
    unsigned visited[6] = {0};
    for (uint32_t seed = 1; seed <= 40; seed++) {
        random_state = seed * 2654435761u;
        power_up(random_below(UINT32_MAX));
        hello(1);
        for (int i = 0; i < 5000; i++) {
            if (random_below(3) == 0) {
                send_something();
            }
            if (random_below(100) == 0) {
                send_a_profile();
            }
            if (random_below(20) == 0) {
                uint8_t noise[60];
                random_bytes(noise, sizeof noise);
                send_bytes(noise, 1 + random_below(60));
            }
            if (random_below(30) == 0) {
                break_something();
            }
            step();
            visited[board.state]++;
            check_rules();
        }
    }
    /* a storm in which nothing ever moved would prove nothing */
    for (int state = STATE_DISARMED; state <= STATE_FAULT; state++) {
        CHECK(visited[state] > 100);
    }
}

TEST(flood_does_not_stop_the_control_steps)
{
    power_up_and_arm();
    uint8_t noise[92];                          /* what 921600 baud bring in a millisecond */
    random_state = 7;
    for (int i = 0; i < 2000; i++) {
        random_bytes(noise, sizeof noise);
        send_bytes(noise, sizeof noise);
        step();
        CHECK_EQUAL(bench.fed, bench.time);
    }
    CHECK_EQUAL(board.faults, FAULT_WATCHDOG);
    CHECK(board.inbox.reader.crc_errors > 100);
    CHECK_EQUAL(board.clock.late_steps, 0);
}

TEST(more_frames_than_fit_wait_for_the_next_step)
{
    power_up(0);
    hello(1);
    uint32_t taken = board.inbox.reader.frames;
    for (int i = 0; i < 40; i++) {
        send(FRAME_DISARM, board.outbox.session, ++sequence, NULL);
    }
    step();
    CHECK_EQUAL(board.inbox.reader.frames, taken + INBOX_CAPACITY);
    step();
    step();
    CHECK_EQUAL(board.inbox.reader.frames, taken + 40);
    CHECK_EQUAL(board.session.command_sequence, sequence);
}

int main(void)
{
    RUN(boot_is_disarmed_and_off);
    RUN(board_that_fails_its_self_test_cannot_be_cleared);
    RUN(motors_are_off_100_ms_after_the_last_set_point_and_stay_off);
    RUN(watchdog_works_through_the_wrap_of_the_clock);
    RUN(set_point_never_arms);
    RUN(end_of_validity_stands_and_is_no_fault);
    RUN(arming_forgets_a_set_point_that_is_still_valid);
    RUN(nothing_is_commanded_before_the_first_hello);
    RUN(stop_command_is_taken_in_every_session);
    RUN(stop_button_is_over_all_and_cannot_be_cleared_while_pressed);
    RUN(new_session_disarms);
    RUN(command_of_an_old_session_is_refused);
    RUN(repeated_command_is_carried_out_once);
    RUN(other_schema_is_read_only);
    RUN(pulses_towards_a_switch_end_at_once_and_latch);
    RUN(homing_turns_round_at_its_switch_without_a_pulse_towards_it);
    RUN(answers_have_room_where_telemetry_has_none);
    RUN(rules_of_safety_hold_in_a_storm);
    RUN(flood_does_not_stop_the_control_steps);
    RUN(more_frames_than_fit_wait_for_the_next_step);
    return 0;
}
