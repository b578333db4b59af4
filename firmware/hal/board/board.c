/* Start of the board, its clock and its watchdog. */
#include "hal/board/board.h"

#include "hal/hal.h"
#include "hal/handlers.h"
#include "hal/memory_test.h"

#ifndef PATIENCE
#define PATIENCE 500000          /* turns of a loop: at least 30 ms */
#endif

enum { INTERNAL_MHZ = 16 };

bool wait_for(volatile uint32_t *status, uint32_t mask, uint32_t value)
{
    for (uint32_t turn = 0; turn < PATIENCE; turn++) {
        if ((*status & mask) == value) {
            return true;
        }
    }
    return false;
}

bool clock_start(void)
{
    RCC->control |= RCC_HSE_ON;
    bool crystal = wait_for(&RCC->control, RCC_HSE_READY, RCC_HSE_READY);
    if (crystal) {
        RCC->control |= RCC_HSE_GUARD;      /* if it fails later: PWM off and a crash */
    }
    uint32_t input_mhz = crystal ? CRYSTAL_MHZ : INTERNAL_MHZ;

    /* 1 MHz x 336 = 336 MHz; / 2 for the core, / 7 for the random numbers */
    RCC->pll = input_mhz | 336u << 6 | 7u << 24 | (crystal ? (uint32_t)RCC_PLL_FROM_HSE : 0);
    RCC->control |= RCC_PLL_ON;
    /* without prefetch, which revision A of the chip cannot do: the first Discovery boards have it */
    FLASH_ACCESS = FLASH_FIVE_WAITS | FLASH_CACHES;
    RCC->configuration = RCC_APB1_QUARTER | RCC_APB2_HALF;
    if (!wait_for(&FLASH_ACCESS, FLASH_WAITS, FLASH_FIVE_WAITS)
            || !wait_for(&RCC->control, RCC_PLL_READY, RCC_PLL_READY)) {
        processor_reset();      /* nothing here would keep time; the motors are off */
    }
    RCC->configuration |= RCC_SWITCH_PLL;
    if (!wait_for(&RCC->configuration, RCC_SWITCHED, RCC_SWITCHED_PLL)) {
        processor_reset();
    }
    return crystal;
}

static void peripherals_on(void)
{
    RCC->ahb1_enable |= RCC_AHB1_GPIO_A_TO_E | RCC_AHB1_DMA2;
    RCC->ahb2_enable |= RCC_AHB2_RNG;
    RCC->apb1_enable |= RCC_APB1_TIM2 | RCC_APB1_TIM3 | RCC_APB1_TIM5 | RCC_APB1_POWER;
    RCC->apb2_enable |= RCC_APB2_TIM1 | RCC_APB2_TIM8 | RCC_APB2_USART1 | RCC_APB2_ADC1
        | RCC_APB2_SYSCFG;
    (void)RCC->apb2_enable;         /* errata 2.1.13: the clock needs a moment */
    memory_barrier();
}

void pins_start(const struct pin *pins, unsigned count)
{
    for (const struct pin *pin = pins; pin < pins + count; pin++) {
        unsigned two = 2u * pin->number, four = 4u * (pin->number % 8);
        struct gpio *port = pin->port;
        port->alternate[pin->number / 8] =
            (port->alternate[pin->number / 8] & ~(0xFu << four)) | (uint32_t)pin->alternate << four;
        port->pull = (port->pull & ~(3u << two)) | (uint32_t)pin->pull << two;
        port->speed = (port->speed & ~(3u << two)) | 1u << two;
        port->mode = (port->mode & ~(3u << two)) | (uint32_t)pin->mode << two;
    }
}

static void timer_of_microseconds_start(void)
{
    TIM5->prescaler = 84 - 1;
    TIM5->reload = 0xFFFFFFFF;
    TIM5->event = TIMER_EVENT_UPDATE;
    TIM5->control1 = TIMER_ON;
}

/* What a reset by software has left behind about its cause. */
enum { SUPPLY_FELL = 0x5FA11 };
static volatile uint32_t last_words __attribute__((section(".uninitialised")));

/* Below 2.7 V the flash is too slow for this clock: better no program than a wrong one. */
void supply_handler(void)
{
    hal_outputs_off();
    last_words = SUPPLY_FELL;
    processor_reset();
}

/* False: the supply is low already, and is not watched. */
static bool supply_watch_start(void)
{
    POWER_CONTROL |= POWER_WATCH_LEVEL_4;
    uint32_t begin = TIM5->count;
    while (TIM5->count - begin < 100) {
    }
    if (POWER_STATUS & POWER_IS_LOW) {
        return false;
    }
    EXTI->rising |= 1u << LINE_OF_SUPPLY;
    EXTI->interrupt |= 1u << LINE_OF_SUPPLY;
    interrupt_enable(IRQ_SUPPLY, 0);
    return true;
}

static enum reset_cause reset_cause(void)
{
    uint32_t status = RCC->status;
    bool supply_fell = last_words == SUPPLY_FELL;
    last_words = 0;
    RCC->status |= RCC_STATUS_FORGET;
    /* every cause also sets the pin, and power sets low voltage: ask in this order */
    return status & RCC_STATUS_WATCHDOG ? RESET_CAUSE_INDEPENDENT_WATCHDOG
         : status & RCC_STATUS_SOFTWARE && supply_fell ? RESET_CAUSE_LOW_VOLTAGE
         : status & RCC_STATUS_SOFTWARE ? RESET_CAUSE_SOFTWARE
         : status & RCC_STATUS_POWER ? RESET_CAUSE_POWER
         : status & RCC_STATUS_BROWNOUT ? RESET_CAUSE_LOW_VOLTAGE
         : status & RCC_STATUS_PIN ? RESET_CAUSE_PIN : RESET_CAUSE_UNKNOWN;
}

/* A number that differs from boot to boot; 0 never comes. */
static uint32_t boot_number(void)
{
    static uint32_t powered_up __attribute__((section(".uninitialised")));
    RNG_CONTROL = RNG_ON;
    bool ready = wait_for(&RNG_STATUS, RNG_READY | RNG_FAULTS, RNG_READY);
    /* without the generator: what the RAM woke up with, counted on by every reset */
    powered_up = powered_up * 2654435761u + 1;
    uint32_t number = ready ? RNG_DATA : powered_up ^ DEVICE_UID(0);
    return number ? number : 1;
}

static void watchdog_start(void)
{
    /* a debugger that halts the processor leaves PWM and pulses running: let it be reset, even if
       the debugger has asked for another behaviour */
    DEBUG_FREEZE_APB1 &= ~(uint32_t)DEBUG_FREEZE_IWDG;
    IWDG_KEY = IWDG_START;
    IWDG_KEY = IWDG_UNLOCK;
    IWDG_RELOAD = HAL_WATCHDOG_MS * 8 - 1;          /* of 32 kHz / 4, the prescaler after reset */
    wait_for(&IWDG_STATUS, IWDG_UPDATING, 0);
    IWDG_KEY = IWDG_FEED;
}

void hal_start(struct hal_identity *identity)
{
    if (RCC->configuration & RCC_SWITCHED) {
        /* no reset has led here but a boot loader, with its clock, interrupts and devices on */
        processor_reset();
    }
    enum reset_cause reset = reset_cause();
    peripherals_on();
    motors_start();                                 /* off, before anything can take long */
    bool clock_works = clock_start();
    timer_of_microseconds_start();
    bool supply_holds = supply_watch_start();
    bool converter_works = sensors_start();
    serial_start();
    for (unsigned word = 0; word < 3; word++) {
        identity->uid[word] = DEVICE_UID(word);
    }
    identity->boot_id = boot_number();
    identity->reset = reset;
    identity->emulated = false;
    identity->healthy = memory_works && clock_works && supply_holds && converter_works;
    watchdog_start();
}

void hal_poll(void)
{
}

uint32_t hal_time_us(void)
{
    return TIM5->count;
}

void hal_feed_watchdog(void)
{
    IWDG_KEY = IWDG_FEED;
}
