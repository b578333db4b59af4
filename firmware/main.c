/* The whole program: bytes as they come, a control step whenever one is due. */
#include "core/board.h"
#include "hal/hal.h"

int main(void);

static struct board board;

int main(void)
{
    struct hal_identity identity;
    hal_start(&identity);
    board_start(&board, &identity);
    for (;;) {
        hal_poll();
        board_receive(&board);
        board_step(&board, hal_time_us());
    }
}
