/* Unsolicited messages of the board: events, telemetry, health. */
#include "core/board.h"

uint8_t board_inputs(const struct board *board)
{
    return (uint8_t)(board->switches
        | (board->seen.stop_button ? INPUT_STOP_BUTTON : 0)
        | (board->encoder[JOINT_SLIDE].homed ? INPUT_SLIDE_HOMED : 0)
        | (board->encoder[JOINT_TURN].homed ? INPUT_TURN_HOMED : 0)
        | (profile_is_complete(&board->profile) ? INPUT_PROFILE_LOADED : 0));
}

static int16_t saturated(int32_t value)
{
    return (int16_t)(value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value);
}

static void send_event(struct board *board)
{
    const struct event_frame *event = events_due(&board->events, board->clock.started);
    if (event != NULL && outbox_send(&board->outbox, FRAME_EVENT, event, ANSWER)) {
        events_sent(&board->events, board->clock.started);
    }
}

static void send_telemetry(struct board *board)
{
    const struct observation *seen = &board->seen;
    struct telemetry_frame telemetry = {
        .time = seen->now,
        .slide_counts = seen->counts[JOINT_SLIDE],
        .turn_counts = seen->counts[JOINT_TURN],
        .adc_root = (uint16_t)seen->flex[0],
        .adc_tip = (uint16_t)seen->flex[1],
        .duty = (int16_t)board->outputs.duty,
        .step_position = seen->steps,
        .step_rate = board->outputs.step_rate,
        .state = board->state,
        .inputs = board_inputs(board),
        .faults = board->faults,
        .setpoint_sequence = board->setpoint.sequence,
        .current = saturated(seen->current),
    };
    outbox_send(&board->outbox, FRAME_TELEMETRY, &telemetry, REGULAR);
}

static void send_health(struct board *board)
{
    const struct frame_reader *reader = &board->inbox.reader;
    struct hal_serial_errors errors;
    hal_serial_errors(&errors);
    struct health_frame health = {
        .uptime = (uint32_t)(board->clock.uptime / 1000),
        .frames = reader->frames,
        .crc_errors = reader->crc_errors,
        .length_errors = reader->length_errors,
        .unknown_ids = reader->unknown_ids,
        .framing_errors = errors.framing,
        .overruns = errors.overrun,
        .refused = board->setpoint.refused,
        .last_refusal = board->setpoint.last_refusal,
        .late_steps = board->clock.late_steps,
        .longest_step = board->clock.longest,
        .dropped_frames = board->outbox.dropped,
        .lost_events = board->events.lost,
    };
    outbox_send(&board->outbox, FRAME_HEALTH, &health, REGULAR);
}

void board_report(struct board *board)
{
    struct stream *stream = &board->stream;
    if (board->outbox.session == NO_SESSION) {
        return;
    }
    send_event(board);
    if (stream->every != 0) {
        if (stream->wait == 0) {
            send_telemetry(board);
            stream->wait = stream->every;
        }
        stream->wait--;
    }
    if ((int32_t)(board->clock.started - stream->health_due) >= 0) {
        send_health(board);
        stream->health_due += HEALTH_PERIOD_MS * 1000;
    }
}
