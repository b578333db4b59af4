/*
 * The whole board on a bench in memory, under sanitizers: a storm of frames, noise and broken
 * sensors in which the rules of safety must hold, and more bytes than it can take.
 */
#include "core/crc32.h"
#include "test/bench.h"

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

/* All conditions for playing a profile, which rarely occur together by chance. */
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

/* Fields that are mostly in range; otherwise almost nothing would move. */
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
    CHECK_EQUAL(bench.motors.bridge, moving);
    CHECK_EQUAL(bench.motors.stepper, moving);
    CHECK(moving || (bench.motors.duty == 0 && bench.motors.rate == 0));
    if (moving) {
        CHECK(!(bench.sensors.inputs & INPUT_STOP_BUTTON));
        CHECK(bench.motors.duty >= -board.parameters.value[PARAMETER_DUTY_MAX]
              && bench.motors.duty <= board.parameters.value[PARAMETER_DUTY_MAX]);
        uint8_t closed = board.switches;
        CHECK(!(closed & INPUT_SLIDE_UPPER && bench.motors.duty > 0));
        CHECK(!(closed & INPUT_SLIDE_LOWER && bench.motors.duty < 0));
        CHECK(!(closed & INPUT_TURN_UPPER && bench.motors.rate > 0));
        CHECK(!(closed & INPUT_TURN_LOWER && bench.motors.rate < 0));
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
    RUN(rules_of_safety_hold_in_a_storm);
    RUN(flood_does_not_stop_the_control_steps);
    RUN(more_frames_than_fit_wait_for_the_next_step);
    return 0;
}
