/* HELLO: a new session, and the state that it resets. */
#include "core/board.h"
#include "core/memory.h"

static uint8_t next_session(const struct board *board)
{
    uint8_t number = board->outbox.session;
    if (number == NO_SESSION) {
        return (uint8_t)(1 + board->identity.boot_id % 255);
    }
    return number == 255 ? 1 : (uint8_t)(number + 1);
}

static void begin_session(struct board *board, const struct hello_frame *hello)
{
    board->outbox.session = next_session(board);
    board->session = (struct session){
        .nonce = hello->nonce,
        .read_only = hello->major != PROTOCOL_MAJOR || hello->schema_crc != SCHEMA_CRC,
    };
    board->setpoint.sequence = 0;
    board->stream.every = 0;
    if (!board->stream.health) {
        board->stream.health = true;
        board->stream.health_due = board->clock.started + HEALTH_PERIOD_MS * 1000;
    }
    if (board_is_moving(board)) {
        board_enter(board, STATE_DISARMED);
    }
    board_remember(board, EVENT_KIND_SESSION, board->outbox.session);
}

void board_hello(struct board *board, const struct hello_frame *hello)
{
    if (board->outbox.session == NO_SESSION || hello->nonce != board->session.nonce) {
        begin_session(board, hello);
    }
    struct hello_ack_frame answer = {
        .major = PROTOCOL_MAJOR,
        .minor = PROTOCOL_MINOR,
        .schema_crc = SCHEMA_CRC,
        .nonce = hello->nonce,
        .boot_id = board->identity.boot_id,
        .firmware = FIRMWARE_VERSION,
        .back_end = board->identity.emulated ? BACK_END_EMULATED_BOARD : BACK_END_BOARD,
        .reset_cause = (uint8_t)board->identity.reset,
        .counts_per_turn = COUNTS_PER_TURN,
        .steps_per_turn = STEPS_PER_TURN,
        .control_rate = CONTROL_RATE_HZ,
    };
    _Static_assert(sizeof answer.uid == sizeof board->identity.uid, "uid");
    memcpy(answer.uid, board->identity.uid, sizeof answer.uid);
    outbox_send(&board->outbox, FRAME_HELLO_ACK, &answer, ANSWER);
}
