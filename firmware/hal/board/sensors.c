/*
 * Encoders, converter and switches.
 *
 * The converter runs without end and DMA keeps the last 16 conversions of each input, so that a
 * reading is a sum over memory. Switches are normally closed to ground: open is high, pressed, or
 * a wire that has come off. Interrupts keep their edges between two readings.
 */
#include "hal/board/board.h"
#include "hal/hal.h"
#include "hal/handlers.h"

enum {
    CONVERTED_INPUTS = 3,
    ADC_FULL = 4095,
    MILLIAMPERE_FULL = SUPPLY_MV * 100 / 112,       /* the DRV8874's monitor gives 1.12 V/A */
    EIGHTY_FOUR_CYCLES = 4,
    LINE_OF_STOP_BUTTON = 15,
    PORT_E = 4,
};

static const struct pin PINS[] = {
    {GPIO_B, 4, PIN_ALTERNATE, PULL_UP, 2}, {GPIO_B, 5, PIN_ALTERNATE, PULL_UP, 2},     /* TIM3 */
    {GPIO_C, 6, PIN_ALTERNATE, PULL_UP, 3}, {GPIO_C, 7, PIN_ALTERNATE, PULL_UP, 3},     /* TIM8 */
    {GPIO_A, 1, PIN_ANALOG, PULL_NONE, 0}, {GPIO_A, 2, PIN_ANALOG, PULL_NONE, 0},
    {GPIO_A, 3, PIN_ANALOG, PULL_NONE, 0},
    {GPIO_E, 7, PIN_INPUT, PULL_UP, 0}, {GPIO_E, 8, PIN_INPUT, PULL_UP, 0},
    {GPIO_E, 10, PIN_INPUT, PULL_UP, 0}, {GPIO_E, 12, PIN_INPUT, PULL_UP, 0},
};

static const struct { uint8_t line; uint8_t input; } SWITCHES[] = {
    {7, INPUT_SLIDE_LOWER}, {8, INPUT_SLIDE_UPPER}, {10, INPUT_TURN_LOWER}, {12, INPUT_TURN_UPPER},
    {LINE_OF_STOP_BUTTON, INPUT_STOP_BUTTON},
};
enum { SWITCH_COUNT = sizeof SWITCHES / sizeof SWITCHES[0] };

static volatile uint16_t conversions[ADC_CONVERSIONS][CONVERTED_INPUTS];
static volatile uint32_t edges_seen;

/* A level counts when it has lasted for 3 us (TIM3) or 1.5 us (TIM8): longer than the spikes that
   motors send into a cable, shorter than the 10 us of a level at 5000 turns per minute. */
static void encoder_start(struct timer *timer)
{
    timer->reload = 0xFFFF;
    timer->mode1 = TIMER_CAPTURE_INPUTS | TIMER_LONGEST_FILTER;
    timer->slave = TIMER_ENCODER;
    timer->control1 = TIMER_ON;
}

/* From power-down on, so that the first conversion is that of the first input. */
static void converter_run(void)
{
    ADC1->control2 = 0;
    DMA2->stream[0].control = 0;
    wait_for(&DMA2->stream[0].control, DMA_ON, 0);
    DMA2->low_clear = DMA_STREAM_0_FLAGS;
    DMA2->stream[0].peripheral = (uint32_t)(uintptr_t)&ADC1->data;
    DMA2->stream[0].memory = (uint32_t)(uintptr_t)conversions;
    DMA2->stream[0].remaining = ADC_CONVERSIONS * CONVERTED_INPUTS;
    DMA2->stream[0].control = DMA_CHANNEL(0) | DMA_HALF_WORDS | DMA_NEXT_BYTE | DMA_CIRCULAR | DMA_ON;
    ADC1->status = 0;
    ADC1->control2 = ADC_ON | ADC_CONTINUOUS | ADC_DMA | ADC_DMA_FOREVER;
    uint32_t begin = TIM5->count;
    while (TIM5->count - begin < 5) {               /* it settles in 3 us */
    }
    ADC1->control2 |= ADC_START;
}

static void converter_start(void)
{
    ADC_COMMON = ADC_QUARTER_CLOCK;                         /* 21 MHz */
    ADC1->control1 = ADC_SCAN;
    ADC1->sequence[0] = (CONVERTED_INPUTS - 1) << 20;
    ADC1->sequence[2] = 1 | 2 << 5 | 3 << 10;               /* inputs 1, 2, 3 */
    ADC1->sample[1] = EIGHTY_FOUR_CYCLES << 3 | EIGHTY_FOUR_CYCLES << 6 | EIGHTY_FOUR_CYCLES << 9;
    converter_run();
}

static void switches_start(void)
{
    for (unsigned i = 0; i < SWITCH_COUNT; i++) {
        unsigned line = SWITCHES[i].line, at = 4 * (line % 4);
        SYSCFG_EXTI(line) = (SYSCFG_EXTI(line) & ~(0xFu << at)) | (uint32_t)PORT_E << at;
        EXTI->rising |= 1u << line;
        EXTI->interrupt |= 1u << line;
    }
    interrupt_enable(IRQ_SWITCHES_5_TO_9, 0);
    interrupt_enable(IRQ_SWITCHES_10_TO_15, 0);
}

bool sensors_start(void)
{
    pins_start(PINS, sizeof PINS / sizeof PINS[0]);
    encoder_start(TIM3);
    encoder_start(TIM8);
    converter_start();
    switches_start();
    return wait_for(&DMA2->low_status, DMA_STREAM_0_DONE, DMA_STREAM_0_DONE);
}

void switches_handler(void)
{
    uint32_t edges = EXTI->pending;
    EXTI->pending = edges;                          /* writing 1 clears */
    edges_seen |= edges;
    if (edges & 1u << LINE_OF_STOP_BUTTON) {
        hal_outputs_off();
    }
}

static uint8_t read_switches(void)
{
    uint32_t mask = interrupts_mask();
    uint32_t edges = edges_seen;
    edges_seen = 0;
    interrupts_restore(mask);
    uint32_t high = GPIO_E->input;
    uint8_t pressed = 0;
    for (unsigned i = 0; i < SWITCH_COUNT; i++) {
        if ((high | edges) & 1u << SWITCHES[i].line) {
            pressed |= SWITCHES[i].input;
        }
    }
    return pressed;
}

static uint32_t sum_of(unsigned input)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < ADC_CONVERSIONS; i++) {
        sum += conversions[i][input];
    }
    return sum;
}

void hal_read_sensors(struct hal_sensors *sensors)
{
    if (ADC1->status & ADC_STATUS_OVERRUN) {
        converter_run();                            /* it stands still until it is started again */
    }
    sensors->encoder[0] = (uint16_t)TIM3->count;
    sensors->encoder[1] = (uint16_t)TIM8->count;
    sensors->flex[0] = sum_of(0);
    sensors->flex[1] = sum_of(1);
    sensors->current = (int32_t)(sum_of(2) * MILLIAMPERE_FULL / (ADC_CONVERSIONS * ADC_FULL));
    sensors->inputs = read_switches();
}
