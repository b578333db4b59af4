/*
 * Commands and set points: the list of "Acknowledgements" and the table of answers.
 *
 * A handler receives unchecked fields. It returns a result; for OUT_OF_RANGE `value`
 * is the place of the field.
 */
#include "core/board.h"

#include <stddef.h>

#include "core/limits.h"

typedef enum result (*handler)(struct board *board, const void *fields, int32_t *value);

struct command {
    uint8_t id;
    bool changes;               /* refused in a read-only session */
    uint8_t refusals[5];        /* enum result, by state from DISARMED on; 0: goes on */
    handler handle;
};

static bool is_newer(uint16_t sequence, uint16_t than)
{
    uint16_t ahead = (uint16_t)(sequence - than);
    return ahead >= 1 && ahead <= 0x7FFF;
}

static enum result out_of_range(int32_t *value, int32_t field)
{
    *value = field;
    return RESULT_OUT_OF_RANGE;
}

static bool drives_in_range(const struct board *board, int32_t duty, int32_t step_rate, int *wrong)
{
    int32_t duty_most = board->parameters.value[PARAMETER_DUTY_MAX];
    int64_t rate_most = (int64_t)board->parameters.value[PARAMETER_STEP_RATE_MAX] * 1000;
    bool duty_fits = duty >= -duty_most && duty <= duty_most;
    bool rate_fits = step_rate >= -rate_most && step_rate <= rate_most;
    *wrong = duty_fits;         /* 0: the duty, 1: the rate */
    return duty_fits && rate_fits;
}

static enum result arm(struct board *board, const void *fields, int32_t *value)
{
    (void)fields, (void)value;
    if (board->state == STATE_DISARMED) {
        monitor_armed(&board->monitor, &board->seen);
    }
    board_enter(board, STATE_ARMED);
    board->setpoint.taken = board->clock.started;
    return RESULT_ACCEPTED;
}

static enum result disarm(struct board *board, const void *fields, int32_t *value)
{
    (void)fields, (void)value;
    if (board_is_moving(board)) {
        board_enter(board, STATE_DISARMED);
    }
    return RESULT_ACCEPTED;
}

static enum result clear(struct board *board, const void *fields, int32_t *value)
{
    (void)fields, (void)value;
    if (board->state == STATE_FAULT) {
        board_clear(board, (uint16_t)~monitor_persisting(&board->seen, &board->parameters));
    }
    return board->faults ? RESULT_CAUSE_PERSISTS : RESULT_ACCEPTED;
}

static enum result home(struct board *board, const void *fields, int32_t *value)
{
    const struct home_frame *frame = fields;
    if (frame->joint > JOINT_TURN || !(board->parameters.value[PARAMETER_SWITCHES_FITTED]
                                       & limit_switch(frame->joint, 0))) {
        return out_of_range(value, 0);
    }
    board->encoder[frame->joint].homed = false;
    homing_start(&board->homing, frame->joint, board->clock.started);
    board_enter(board, STATE_HOMING);
    return RESULT_ACCEPTED;
}

static enum result zero(struct board *board, const void *fields, int32_t *value)
{
    const struct zero_frame *frame = fields;
    if (frame->joint > JOINT_TURN) {
        return out_of_range(value, 0);
    }
    encoder_set_origin(&board->encoder[frame->joint], frame->counts);
    board->seen.counts[frame->joint] = frame->counts;
    board_remember(board, EVENT_KIND_HOMED, frame->joint);
    return RESULT_ACCEPTED;
}

static enum result param(struct board *board, const void *fields, int32_t *value)
{
    const struct param_frame *frame = fields;
    if (frame->access > ACCESS_WRITE) {
        return out_of_range(value, 0);
    }
    if (frame->parameter >= PARAMETER_COUNT) {
        return out_of_range(value, 1);
    }
    if (frame->access == ACCESS_WRITE) {
        int32_t before = board->parameters.value[frame->parameter];
        if (!parameters_write(&board->parameters, frame->parameter, frame->value)) {
            return out_of_range(value, 2);
        }
        profile_drop(&board->profile);
        int joint = frame->parameter - PARAMETER_SLIDE_REVERSED;
        if ((joint == JOINT_SLIDE || joint == JOINT_TURN) && frame->value != before) {
            board_lose_homing(board, joint);    /* counts run the other way from here */
        }
    }
    *value = board->parameters.value[frame->parameter];
    return RESULT_ACCEPTED;
}

static bool segments_in_range(const struct board *board, const struct profile_load_frame *chunk)
{
    for (int i = 0; i < profile_chunk_size(chunk); i++) {
        struct segment segment = chunk->segments[i];
        int wrong;
        if (segment.duration < SEGMENT_MIN_US || segment.duration > SEGMENT_MAX_US
                || !drives_in_range(board, segment.duty, segment.step_rate, &wrong)) {
            return false;
        }
    }
    return true;
}

static enum result profile_chunk(struct board *board, const void *fields, int32_t *value)
{
    const struct profile_load_frame *chunk = fields;
    int wrong = chunk->first >= chunk->total ? 0
              : chunk->total > PROFILE_CAPACITY ? 1
              : !segments_in_range(board, chunk) ? 3 : -1;
    if (wrong >= 0) {
        profile_drop(&board->profile);
        return out_of_range(value, wrong);
    }
    if (!profile_load(&board->profile, chunk)) {
        return RESULT_BAD_PROFILE;
    }
    *value = board->profile.held;
    return RESULT_ACCEPTED;
}

static enum result play(struct board *board, const void *fields, int32_t *value)
{
    const struct profile_start_frame *frame = fields;
    (void)value;
    if (!profile_is_complete(&board->profile) || frame->crc != board->profile.crc) {
        return RESULT_NO_PROFILE;
    }
    if (!board->encoder[JOINT_SLIDE].homed || !board->encoder[JOINT_TURN].homed) {
        return RESULT_NOT_HOMED;
    }
    profile_start(&board->profile);
    board->profile_time = board->clock.started;
    board_enter(board, STATE_PROFILE);
    return RESULT_ACCEPTED;
}

static enum result stream(struct board *board, const void *fields, int32_t *value)
{
    const struct stream_frame *frame = fields;
    if (frame->rate != 0 && CONTROL_RATE_HZ % frame->rate != 0) {
        return out_of_range(value, 0);
    }
    board->stream.every = frame->rate ? (unsigned)CONTROL_RATE_HZ / frame->rate : 0;
    board->stream.wait = 1;
    *value = frame->rate;
    return RESULT_ACCEPTED;
}

static enum result estop(struct board *board, const void *fields, int32_t *value)
{
    (void)fields, (void)value;
    board_latch(board, FAULT_ESTOP_COMMAND);
    return RESULT_ACCEPTED;
}

static enum result take_setpoint(struct board *board, const void *fields, int32_t *value)
{
    const struct setpoint_frame *frame = fields;
    int wrong;
    if (frame->mode > MODE_DRIVE) {
        return out_of_range(value, 0);
    }
    if (frame->mode == MODE_DRIVE
            && !drives_in_range(board, frame->duty, frame->step_rate, &wrong)) {
        return out_of_range(value, 1 + wrong);
    }
    if (frame->validity < 1 || frame->validity > VALIDITY_MAX_MS) {
        return out_of_range(value, 3);
    }
    board->setpoint.drives = frame->mode == MODE_DRIVE;
    board->setpoint.duty = frame->duty;
    board->setpoint.step_rate = frame->step_rate;
    board->setpoint.validity = frame->validity * 1000u;
    board->setpoint.taken = board->clock.started;
    return RESULT_ACCEPTED;
}

enum { DISARM_FIRST = RESULT_MUST_DISARM, BUSY = RESULT_BUSY, LATCHED = RESULT_LATCHED,
       NOT_ARMED = RESULT_NOT_ARMED };

/* variants of one id have separate rows, which are found by their index */
enum { READ_PARAMETER, WRITE_PARAMETER, STAY_ALIVE, DRIVE, FIRST_BY_ID };

static const struct command COMMANDS[] = {
    /*                                     DISARMED   ARMED         HOMING PROFILE FAULT */
    [READ_PARAMETER] = {FRAME_PARAM, false, {0, 0, 0, 0, 0}, param},
    [WRITE_PARAMETER] = {FRAME_PARAM, true, {0, DISARM_FIRST, BUSY, BUSY, 0}, param},
    [STAY_ALIVE] = {FRAME_SETPOINT, true, {NOT_ARMED, 0, 0, 0, LATCHED}, take_setpoint},
    [DRIVE] = {FRAME_SETPOINT, true, {NOT_ARMED, 0, BUSY, BUSY, LATCHED}, take_setpoint},
    {FRAME_ARM, true, {0, 0, BUSY, BUSY, LATCHED}, arm},
    {FRAME_DISARM, false, {0, 0, 0, 0, 0}, disarm},
    {FRAME_CLEAR, true, {0, DISARM_FIRST, DISARM_FIRST, DISARM_FIRST, 0}, clear},
    {FRAME_HOME, true, {NOT_ARMED, 0, BUSY, BUSY, LATCHED}, home},
    {FRAME_ZERO, true, {0, DISARM_FIRST, BUSY, BUSY, LATCHED}, zero},
    {FRAME_PROFILE_LOAD, true, {0, 0, BUSY, BUSY, 0}, profile_chunk},
    {FRAME_PROFILE_START, true, {NOT_ARMED, 0, BUSY, BUSY, LATCHED}, play},
    {FRAME_STREAM, false, {0, 0, 0, 0, 0}, stream},
    {FRAME_ESTOP, false, {0, 0, 0, 0, 0}, estop},
};

static const struct command *command_for(uint8_t id, const void *fields)
{
    if (id == FRAME_PARAM) {
        const struct param_frame *frame = fields;
        return COMMANDS + (frame->access == ACCESS_WRITE ? WRITE_PARAMETER : READ_PARAMETER);
    }
    if (id == FRAME_SETPOINT) {
        const struct setpoint_frame *frame = fields;
        return COMMANDS + (frame->mode == MODE_DRIVE ? DRIVE : STAY_ALIVE);
    }
    for (const struct command *command = COMMANDS + FIRST_BY_ID;
            command < COMMANDS + sizeof COMMANDS / sizeof COMMANDS[0]; command++) {
        if (command->id == id) {
            return command;
        }
    }
    return NULL;
}

/* Points 5 and following of the list. */
static enum result check_and_handle(struct board *board, uint8_t id, const void *fields,
                                    int32_t *value)
{
    const struct command *command = command_for(id, fields);
    if (command == NULL) {
        return RESULT_OUT_OF_RANGE;             /* a frame of the schema without a row here */
    }
    uint8_t refusal = command->refusals[board->state - STATE_DISARMED];
    if (board->session.read_only && command->changes) {
        return RESULT_READ_ONLY;
    }
    return refusal ? (enum result)refusal : command->handle(board, fields, value);
}

static void acknowledge(struct board *board, struct header header, uint8_t result, int32_t value)
{
    struct ack_frame ack = {
        .command = header.id,
        .result = result,
        .command_sequence = header.sequence,
        .state = board->state,
        .faults = board->faults,
        .value = value,
    };
    outbox_send(&board->outbox, FRAME_ACK, &ack, ANSWER);
}

static bool is_of_this_session(const struct board *board, struct header header)
{
    return header.session != NO_SESSION && header.session == board->outbox.session;
}

void board_command(struct board *board, struct header header, const void *fields)
{
    struct session *session = &board->session;
    int32_t value = 0;
    if (header.id == FRAME_ESTOP) {
        acknowledge(board, header, (uint8_t)estop(board, fields, &value), value);
        return;
    }
    if (!is_of_this_session(board, header)) {
        acknowledge(board, header, RESULT_WRONG_SESSION, 0);
        return;
    }
    bool repeated = session->has_command && header.id == session->command
        && header.sequence == session->command_sequence;
    if (!repeated) {
        if (session->has_command && !is_newer(header.sequence, session->command_sequence)) {
            acknowledge(board, header, RESULT_OLD, 0);
            return;
        }
        session->result = (uint8_t)check_and_handle(board, header.id, fields, &value);
        session->value = value;
        session->has_command = true;
        session->command = header.id;
        session->command_sequence = header.sequence;
    }
    acknowledge(board, header, session->result, session->value);
}

void board_setpoint(struct board *board, struct header header, const struct setpoint_frame *frame)
{
    struct session *session = &board->session;
    int32_t unused;
    enum result result
        = !is_of_this_session(board, header) ? RESULT_WRONG_SESSION
        : session->has_setpoint && !is_newer(header.sequence, board->setpoint.sequence) ? RESULT_OLD
        : check_and_handle(board, header.id, frame, &unused);
    if (result == RESULT_ACCEPTED) {
        session->has_setpoint = true;
        board->setpoint.sequence = header.sequence;
    } else {
        board->setpoint.refused++;
        board->setpoint.last_refusal = (uint8_t)result;
    }
}
