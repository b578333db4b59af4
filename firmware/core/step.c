/* One control step, in the order of docs/rig_protocol.md. */
#include "core/board.h"

#include <stddef.h>

#include "core/limits.h"

enum { SWITCHES = INPUT_SLIDE_LOWER | INPUT_SLIDE_UPPER | INPUT_TURN_LOWER | INPUT_TURN_UPPER };

/* 1. what there is */
static void sense(struct board *board)
{
    const int32_t *value = board->parameters.value;
    struct observation *seen = &board->seen;
    struct hal_sensors sensors;
    hal_read_sensors(&sensors);
    uint8_t closed = (uint8_t)(sensors.inputs & SWITCHES & value[PARAMETER_SWITCHES_FITTED]);
    board->closing = closed & (uint8_t)~board->switches;
    board->switches = closed;
    seen->now = board->clock.started;
    seen->lateness = board->clock.lateness;
    seen->moving = board_is_moving(board);
    seen->stop_button = sensors.inputs & INPUT_STOP_BUTTON;
    seen->current = sensors.current;
    seen->steps = hal_steps_sent();
    for (int joint = 0; joint < 2; joint++) {
        struct encoder *encoder = &board->encoder[joint];
        encoder_update(encoder, sensors.encoder[joint], value[PARAMETER_SLIDE_REVERSED + joint]);
        seen->counts[joint] = encoder->counts;
        seen->change[joint] = encoder->change;
        seen->flex[joint] = sensors.flex[joint];
    }
}

/* 2. faults that this shows */
static void look_for_faults(struct board *board)
{
    uint16_t found = monitor_look(&board->monitor, &board->seen, &board->parameters);
    if (board->seen.moving) {
        uint8_t expected = board->state == STATE_HOMING ? limit_switch(board->homing.joint, 0) : 0;
        found |= limits_faults(board->closing & (uint8_t)~expected);
    }
    board_latch(board, found);
    for (int joint = 0; joint < 2; joint++) {
        if (found & FAULT_ENCODER_SLIDE << joint) {
            board_lose_homing(board, joint);
        }
    }
}

/* 3. frames that have arrived */
static void handle(struct board *board, const struct received_frame *frame)
{
    switch (frame->header.id) {
    case FRAME_HELLO:
        board_hello(board, (const struct hello_frame *)frame->fields);
        break;
    case FRAME_SETPOINT:
        board_setpoint(board, frame->header, (const struct setpoint_frame *)frame->fields);
        break;
    case FRAME_EVENT_ACK:
        if (frame->header.session == board->outbox.session) {
            events_acknowledge(&board->events,
                               ((const struct event_ack_frame *)frame->fields)->number);
        }
        break;
    default:
        board_command(board, frame->header, frame->fields);
    }
}

static void handle_frames(struct board *board)
{
    struct received_frame frame;
    while (inbox_next(&board->inbox, &frame)) {
        handle(board, &frame);
    }
}

/* 4. what time has brought */
static void go_on(struct board *board)
{
    uint32_t now = board->clock.started;
    struct setpoint *setpoint = &board->setpoint;
    if (board_is_moving(board) && now - setpoint->taken >= WATCHDOG_MS * 1000u - STEP_US) {
        board_latch(board, FAULT_WATCHDOG);
    }
    if (setpoint->drives && now - setpoint->taken >= setpoint->validity) {
        setpoint->drives = false;
    }
    if (board->state == STATE_HOMING) {
        bool closed = board->switches & limit_switch(board->homing.joint, 0);
        switch (homing_advance(&board->homing, closed, now,
                               board->parameters.value[PARAMETER_HOME_TIMEOUT])) {
        case HOMING_FOUND: board_finish_homing(board); break;
        case HOMING_TOO_LONG: board_latch(board, FAULT_HOMING); break;
        case HOMING_GOES_ON: break;
        }
    }
    if (board->state == STATE_PROFILE) {
        if (profile_advance(&board->profile, now - board->profile_time) == NULL) {
            board_finish_profile(board);
        }
        board->profile_time = now;
    }
}

void board_start(struct board *board, const struct hal_identity *identity)
{
    struct hal_sensors sensors;
    *board = (struct board){.identity = *identity, .state = STATE_DISARMED};
    parameters_start(&board->parameters);
    hal_read_sensors(&sensors);
    for (int joint = 0; joint < 2; joint++) {
        encoder_start(&board->encoder[joint], sensors.encoder[joint]);
    }
    step_clock_start(&board->clock, hal_time_us());
    board_remember(board, EVENT_KIND_BOOT, (int32_t)identity->reset);
    if (!identity->healthy) {
        board_latch(board, FAULT_SELF_TEST);
    }
}

static void answer_time(struct board *board, const struct received_frame *frame, uint32_t received)
{
    const struct time_frame *question = (const struct time_frame *)frame->fields;
    if (frame->header.session != NO_SESSION && frame->header.session == board->outbox.session) {
        struct time_reply_frame reply = {
            .token = question->token, .received = received, .sent = hal_time_us()};
        outbox_send(&board->outbox, FRAME_TIME_REPLY, &reply, ANSWER);
    }
}

void board_receive(struct board *board)
{
    struct received_frame frame;
    uint8_t byte;
    while (!inbox_is_full(&board->inbox) && hal_serial_read(&byte, 1)) {
        if (inbox_take(&board->inbox, byte, &frame)) {
            if (frame.header.id == FRAME_TIME) {
                answer_time(board, &frame, hal_time_us());
            } else {
                inbox_keep(&board->inbox, &frame);
            }
        }
    }
}

void board_step(struct board *board, uint32_t now)
{
    uint32_t before = board->clock.started;
    if (!step_clock_begins(&board->clock, now)) {
        return;
    }
    sense(board);
    look_for_faults(board);
    handle_frames(board);
    go_on(board);
    board_move(board, now - before);
    board_report(board);
    hal_feed_watchdog();
    step_clock_ends(&board->clock, hal_time_us());
}
