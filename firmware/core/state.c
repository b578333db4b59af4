/* States, faults and the events that report them. */
#include "core/board.h"

bool board_is_moving(const struct board *board)
{
    return board->state == STATE_ARMED || board->state == STATE_HOMING
        || board->state == STATE_PROFILE;
}

void board_remember(struct board *board, enum event_kind kind, int32_t detail)
{
    events_add(&board->events, (struct event_frame){
        .time = board->clock.started,
        .kind = (uint8_t)kind,
        .state = board->state,
        .faults = board->faults,
        .detail = detail,
    });
}

/* Outputs are switched off immediately, not at the end of the step. */
static void change_state(struct board *board, enum state state)
{
    board->state = (uint8_t)state;
    board->setpoint.drives = false;
    if (!board_is_moving(board)) {
        board->outputs = (struct outputs){0};
        hal_outputs_off();
    }
}

void board_enter(struct board *board, enum state state)
{
    int32_t before = board->state;
    change_state(board, state);
    if (before != (int32_t)state) {
        board_remember(board, EVENT_KIND_STATE, before);
    }
}

void board_latch(struct board *board, uint16_t faults)
{
    uint16_t fresh = faults & (uint16_t)~board->faults;
    if (fresh != 0) {
        board->faults |= fresh;
        change_state(board, STATE_FAULT);
        board_remember(board, EVENT_KIND_FAULT, fresh);
    }
}

void board_clear(struct board *board, uint16_t faults)
{
    board->faults &= (uint16_t)~faults;
    if (board->faults == 0) {
        board_enter(board, STATE_DISARMED);
    }
}

void board_lose_homing(struct board *board, int joint)
{
    if (board->encoder[joint].homed) {
        board->encoder[joint].homed = false;
        board_remember(board, EVENT_KIND_HOMING_LOST, joint);
    }
}

void board_finish_homing(struct board *board)
{
    uint8_t joint = board->homing.joint;
    int32_t counts = board->parameters.value[PARAMETER_SLIDE_HOME_COUNTS + joint];
    encoder_set_origin(&board->encoder[joint], counts);
    board->seen.counts[joint] = counts;
    monitor_trust_steps(&board->monitor, board->seen.counts[JOINT_TURN], board->seen.steps);
    change_state(board, STATE_ARMED);
    board_remember(board, EVENT_KIND_HOMED, joint);
}

void board_finish_profile(struct board *board)
{
    change_state(board, STATE_ARMED);
    board_remember(board, EVENT_KIND_PROFILE_DONE, board->profile.total);
}
