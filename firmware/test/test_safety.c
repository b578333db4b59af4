/* The whole board on a bench in memory, under sanitizers: the rules of safety, one by one. */
#include "test/bench.h"

static void check_off(void)
{
    CHECK(!bench.motors.bridge && !bench.motors.stepper);
    CHECK_EQUAL(bench.motors.duty, 0);
    CHECK_EQUAL(bench.motors.rate, 0);
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
    while (bench.motors.bridge || bench.motors.stepper) {
        bench.sensors.encoder[0]++;             /* it moves, so that nothing else stops it */
        bench.sensors.encoder[1] = (uint16_t)(bench.motors.steps.count * 3 / 4);
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
    CHECK_EQUAL(bench.motors.duty, 0);                 /* earlier requests are forgotten */
    CHECK_EQUAL(bench.motors.rate, 0);
}

TEST(watchdog_works_through_the_wrap_of_the_clock)
{
    power_up(UINT32_MAX - 50000);
    hello(1);
    command(FRAME_ARM, NULL);
    uint32_t armed = bench.time;
    while (bench.motors.bridge) {
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
        CHECK_EQUAL(bench.motors.duty, 3000);
        step();
    }
    step();
    CHECK_EQUAL(bench.motors.duty, 0);
    CHECK_EQUAL(board.state, STATE_ARMED);
    CHECK(bench.motors.bridge);
}

TEST(arming_forgets_a_set_point_that_is_still_valid)
{
    power_up_and_arm();
    setpoint(MODE_DRIVE, 3000, 1600000, 100);
    command(FRAME_DISARM, NULL);
    check_off();
    command(FRAME_ARM, NULL);
    step();
    CHECK(bench.motors.bridge && bench.motors.stepper);
    CHECK_EQUAL(bench.motors.duty, 0);
    CHECK_EQUAL(bench.motors.rate, 0);
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
        bench.sensors.encoder[1] = (uint16_t)(bench.motors.steps.count * 3 / 4);
        setpoint(MODE_DRIVE, 0, 1600000, 100);
    }
    CHECK_EQUAL(bench.motors.rate, 1600000);
    bench.sensors.inputs = INPUT_TURN_UPPER;
    setpoint(MODE_DRIVE, 0, 1600000, 100);
    check_off();
    CHECK_EQUAL(board.faults, FAULT_LIMIT_TURN);
    command(FRAME_CLEAR, NULL);
    command(FRAME_ARM, NULL);
    setpoint(MODE_DRIVE, 0, 1600000, 100);
    CHECK_EQUAL(bench.motors.rate, 0);
    setpoint(MODE_DRIVE, 0, -1600000, 100);
    CHECK_EQUAL(bench.motors.rate, -32000);
    CHECK_EQUAL(board.state, STATE_ARMED);
}

TEST(homing_turns_round_at_its_switch_without_a_pulse_towards_it)
{
    power_up_and_arm();
    command(FRAME_HOME, &(struct home_frame){JOINT_TURN});
    for (int i = 0; i < 20; i++) {
        setpoint(MODE_ALIVE, 0, 0, 100);
    }
    CHECK_EQUAL(bench.motors.rate, -320000);
    bench.sensors.inputs = INPUT_TURN_LOWER;
    for (int i = 0; i < 20; i++) {
        setpoint(MODE_ALIVE, 0, 0, 100);
        CHECK_EQUAL(bench.motors.rate, 0);
    }
    setpoint(MODE_ALIVE, 0, 0, 100);
    CHECK_EQUAL(board.state, STATE_HOMING);
    CHECK_EQUAL(bench.motors.rate, 32000);             /* one step of the ramp away from it */
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
    return 0;
}
