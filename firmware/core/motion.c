/* From the requested motion to the motor outputs: limits and ramp. */
#include "core/board.h"
#include "core/limits.h"
#include "core/step_ramp.h"

static struct outputs wanted_while_homing(const struct board *board)
{
    const int32_t *value = board->parameters.value;
    int direction = homing_direction(&board->homing);
    if (board->homing.joint == JOINT_SLIDE) {
        return (struct outputs){.duty = direction * value[PARAMETER_HOME_DUTY]};
    }
    return (struct outputs){.step_rate = direction * value[PARAMETER_HOME_RATE] * 1000};
}

static struct outputs wanted(const struct board *board)
{
    switch (board->state) {
    case STATE_ARMED:
        return board->setpoint.drives
            ? (struct outputs){board->setpoint.duty, board->setpoint.step_rate}
            : (struct outputs){0};
    case STATE_HOMING:
        return wanted_while_homing(board);
    case STATE_PROFILE: {
        const struct segment *segment = board->profile.segments + board->profile.playing;
        return (struct outputs){segment->duty, segment->step_rate};
    }
    default:
        return (struct outputs){0};
    }
}

static bool forbids(const struct board *board, int joint, int32_t motion)
{
    return limits_switch_forbids(board->switches, joint, motion)
        || limits_soft_forbids(&board->encoder[joint], joint, motion, &board->parameters);
}

/* What the limits leave of `target`; bits of enum joint where they took something away. */
static unsigned hold_limits(struct board *board, struct outputs *target)
{
    unsigned held = 0;
    if (forbids(board, JOINT_SLIDE, target->duty)) {
        target->duty = 0;
        held |= 1u << JOINT_SLIDE;
    }
    if (forbids(board, JOINT_TURN, target->step_rate)) {
        target->step_rate = 0;
        held |= 1u << JOINT_TURN;
    }
    /* pulses towards a closed switch end immediately, regardless of the ramp */
    if (limits_switch_forbids(board->switches, JOINT_TURN, board->outputs.step_rate)) {
        board->outputs.step_rate = 0;
        held |= 1u << JOINT_TURN;
    }
    return held;
}

void board_move(struct board *board, uint32_t duration)
{
    struct outputs target = wanted(board);
    if (board_is_moving(board)) {
        unsigned held = hold_limits(board, &target);
        if (held && board->state == STATE_PROFILE) {
            /* a limited profile would be another experiment */
            board_latch(board, (uint16_t)(held * FAULT_LIMIT_SLIDE));
        }
    }
    if (board_is_moving(board)) {
        board->outputs.duty = target.duty;
        board->outputs.step_rate = step_ramp(
            board->outputs.step_rate, target.step_rate,
            board->parameters.value[PARAMETER_STEP_ACCELERATION], duration);
        hal_set_bridge(true, board->outputs.duty);
        hal_set_stepper(true, board->outputs.step_rate);
    } else {
        hal_outputs_off();
    }
    monitor_applied(&board->monitor, &board->seen, board->outputs.duty, &board->parameters);
}
