/*
 * USART1 by DMA in both directions: no interrupt per byte, however fast the host sends.
 *
 * Received bytes go round in one buffer; what is queued for sending leaves in pieces that do not
 * wrap, each started when the one before is done.
 */
#include "core/memory.h"
#include "hal/board/board.h"
#include "hal/hal.h"
#include "hal/handlers.h"

enum {
    RECEIVE_SIZE = 2048,            /* 22 ms at full speed */
    SEND_SIZE = 4096,
    BAUD_DIVISOR = (84000000 + 921600 / 2) / 921600,
};

static const struct pin PINS[] = {
    {GPIO_B, 6, PIN_ALTERNATE, PULL_UP, 7}, {GPIO_B, 7, PIN_ALTERNATE, PULL_UP, 7},
};

static volatile uint8_t received[RECEIVE_SIZE];
static uint8_t queued[SEND_SIZE];
static uint32_t taken;
static volatile uint32_t sent_at, queued_at, piece;     /* counters; the buffer takes them modulo */
static volatile struct hal_serial_errors errors_seen;

#define RECEIVING (DMA2->stream[5])
#define SENDING (DMA2->stream[7])

void serial_start(void)
{
    pins_start(PINS, sizeof PINS / sizeof PINS[0]);
    USART1->baud = BAUD_DIVISOR;
    USART1->control3 = USART_DMA_RECEIVE | USART_DMA_SEND | USART_ERROR_INTERRUPT;
    USART1->control1 = USART_ON | USART_SEND | USART_RECEIVE;

    RECEIVING.peripheral = (uint32_t)(uintptr_t)&USART1->data;
    RECEIVING.memory = (uint32_t)(uintptr_t)received;
    RECEIVING.remaining = RECEIVE_SIZE;
    RECEIVING.control = DMA_CHANNEL(4) | DMA_NEXT_BYTE | DMA_CIRCULAR | DMA_ON;
    SENDING.peripheral = (uint32_t)(uintptr_t)&USART1->data;
    interrupt_enable(IRQ_SERIAL, 3);
    interrupt_enable(IRQ_SERIAL_SENT, 3);
}

/* Errors only: the bytes go by DMA. */
void serial_handler(void)
{
    uint32_t status = USART1->status;
    (void)USART1->data;             /* reading both clears the flags */
    if (status & (USART_FRAMING | USART_NOISE)) {
        errors_seen.framing++;
    }
    if (status & USART_OVERRUN) {
        errors_seen.overrun++;
    }
}

static void send_next_piece(void)
{
    uint32_t begin = sent_at % SEND_SIZE, size = queued_at - sent_at;
    if (size > SEND_SIZE - begin) {
        size = SEND_SIZE - begin;
    }
    piece = size;
    if (size != 0) {
        SENDING.memory = (uint32_t)(uintptr_t)(queued + begin);
        SENDING.remaining = size;
        memory_barrier();
        SENDING.control = DMA_CHANNEL(4) | DMA_NEXT_BYTE | DMA_FROM_MEMORY | DMA_DONE_INTERRUPT
            | DMA_ERROR_INTERRUPT | DMA_ON;
    }
}

/* Also after an error: a frame that comes damaged is counted by the host. */
void serial_sent_handler(void)
{
    if (DMA2->high_status & DMA_STREAM_7_ENDED) {
        DMA2->high_clear = DMA_STREAM_7_FLAGS;
        sent_at += piece;
        send_next_piece();
    }
}

size_t hal_serial_room(void)
{
    return SEND_SIZE - (queued_at - sent_at);
}

void hal_serial_write(const uint8_t *bytes, size_t size)
{
    uint32_t begin = queued_at % SEND_SIZE, first = SEND_SIZE - begin;
    if (first > size) {
        first = (uint32_t)size;
    }
    memcpy(queued + begin, bytes, first);
    memcpy(queued, bytes + first, size - first);
    uint32_t mask = interrupts_mask();
    queued_at += (uint32_t)size;
    if (piece == 0) {
        send_next_piece();
    }
    interrupts_restore(mask);
}

size_t hal_serial_read(uint8_t *bytes, size_t size)
{
    uint32_t arrived = RECEIVE_SIZE - RECEIVING.remaining;
    size_t count = 0;
    while (count < size && taken != arrived % RECEIVE_SIZE) {
        bytes[count++] = received[taken];
        taken = (taken + 1) % RECEIVE_SIZE;
    }
    return count;
}

void hal_serial_errors(struct hal_serial_errors *errors)
{
    *errors = errors_seen;
}
