/* Bytes between the serial port and its buffers. */
#include <math.h>
#include <string.h>

#include "hal/handlers.h"
#include "test/silicon/started_chip.h"

TEST(baud_rate_is_within_a_percent)
{
    power_up_and_start();
    CHECK_EQUAL(reg(USART1_CR1), 1 << 13 | 1 << 3 | 1 << 2);    /* 8 bits, no parity, 16 samples */
    double baud = clocks(CRYSTAL_MHZ).apb2 * 1e6 / reg(USART1_BRR);
    CHECK(fabs(baud / 921600 - 1) < 0.01);
    CHECK_EQUAL(reg(USART1_CR3), 1 << 7 | 1 << 6 | 1);
}

/* What the DMA does with the piece that it was given. */
static size_t send_piece(uint8_t *to)
{
    size_t size = reg(stream(7, NDTR));
    memcpy(to, (void *)(uintptr_t)reg(stream(7, M0AR)), size);
    CHECK_EQUAL(bits(stream(7, SCR), 0, 1), 1);
    set_reg(stream(7, SCR), reg(stream(7, SCR)) & ~1u);
    set_reg(DMA2_HISR, 1u << 27 | 1u << 26);
    serve_interrupts();
    return size;
}

TEST(bytes_leave_in_their_order_through_the_wrap_of_the_buffer)
{
    uint8_t queued[777], heard[2 * sizeof queued];
    power_up_and_start();
    size_t room = hal_serial_room();
    for (uint8_t turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < sizeof queued; i++) {
            queued[i] = (uint8_t)(i * 7 + turn);
        }
        hal_serial_write(queued, 100);
        hal_serial_write(queued + 100, sizeof queued - 100);
        CHECK_EQUAL(bits(stream(7, SCR), 25, 3), 4);
        CHECK_EQUAL(bits(stream(7, SCR), 6, 2), 1);
        CHECK_EQUAL(reg(stream(7, PAR)), USART1_DR);
        size_t size = 0;
        while (bits(stream(7, SCR), 0, 1)) {
            size += send_piece(heard + size);
            serial_sent_handler();                  /* once more, which must not matter */
        }
        CHECK_EQUAL(size, sizeof queued);
        CHECK(memcmp(queued, heard, size) == 0);
        CHECK_EQUAL(hal_serial_room(), room);
    }
}

TEST(bytes_arrive_in_their_order_through_the_wrap_of_the_buffer)
{
    uint8_t heard[500];
    power_up_and_start();
    CHECK_EQUAL(reg(stream(5, SCR)), 4u << 25 | 1 << 10 | 1 << 8 | 1);
    CHECK_EQUAL(reg(stream(5, PAR)), USART1_DR);
    uint8_t *buffer = (uint8_t *)(uintptr_t)reg(stream(5, M0AR));
    uint32_t size = reg(stream(5, NDTR)), at = 0;
    for (uint8_t turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < sizeof heard; i++) {
            buffer[at] = (uint8_t)(i * 3 + turn);
            at = (at + 1) % size;
        }
        set_reg(stream(5, NDTR), size - at);
        CHECK_EQUAL(hal_serial_read(heard, 200), 200);
        CHECK_EQUAL(hal_serial_read(heard + 200, 500), 300);
        CHECK_EQUAL(hal_serial_read(heard, 1), 0);
        for (size_t i = 0; i < sizeof heard; i++) {
            CHECK_EQUAL(heard[i], (uint8_t)(i * 3 + turn));
        }
    }
}

int main(void)
{
    RUN_APART(baud_rate_is_within_a_percent);
    RUN_APART(bytes_leave_in_their_order_through_the_wrap_of_the_buffer);
    RUN_APART(bytes_arrive_in_their_order_through_the_wrap_of_the_buffer);
    return 0;
}
