/* Registers of the STM32F407 that the board back end uses. Numbers from RM0090, chapters named. */
#ifndef FLEX_STM32F407_H
#define FLEX_STM32F407_H

#include <stddef.h>
#include <stdint.h>

#include "hal/cortex_m4.h"

/* 5 Power control */
#define POWER_CONTROL REGISTER(0x40007000)
#define POWER_STATUS REGISTER(0x40007004)
/* level 4: 2.66 V as it falls, 2.76 V as it rises, both within 60 mV (data sheet) */
enum { POWER_WATCH_LEVEL_4 = 1 << 4 | 4 << 5, POWER_IS_LOW = 1 << 2, LINE_OF_SUPPLY = 16 };

/* 7 Reset and clock control */
struct rcc {
    volatile uint32_t control, pll, configuration, interrupt, reset[8], ahb1_enable, ahb2_enable,
        ahb3_enable, reserved0, apb1_enable, apb2_enable, reserved1[10], backup_domain, status;
};
#define RCC ((struct rcc *)0x40023800)
enum {
    RCC_HSE_ON = 1 << 16, RCC_HSE_READY = 1 << 17, RCC_HSE_GUARD = 1 << 19,
    RCC_PLL_ON = 1 << 24, RCC_PLL_READY = 1 << 25, RCC_PLL_FROM_HSE = 1 << 22,
    RCC_SWITCH_PLL = 2, RCC_SWITCHED_PLL = 2 << 2, RCC_SWITCHED = 3 << 2,
    RCC_APB1_QUARTER = 5 << 10, RCC_APB2_HALF = 4 << 13,
    RCC_AHB1_GPIO_A_TO_E = 0x1F, RCC_AHB1_DMA2 = 1 << 22, RCC_AHB2_RNG = 1 << 6,
    RCC_APB1_TIM2 = 1 << 0, RCC_APB1_TIM3 = 1 << 1, RCC_APB1_TIM5 = 1 << 3,
    RCC_APB1_POWER = 1 << 28,
    RCC_APB2_TIM1 = 1 << 0, RCC_APB2_TIM8 = 1 << 1, RCC_APB2_USART1 = 1 << 4,
    RCC_APB2_ADC1 = 1 << 8, RCC_APB2_SYSCFG = 1 << 14,
    RCC_STATUS_FORGET = 1 << 24, RCC_STATUS_BROWNOUT = 1 << 25, RCC_STATUS_PIN = 1 << 26,
    RCC_STATUS_POWER = 1 << 27, RCC_STATUS_SOFTWARE = 1 << 28, RCC_STATUS_WATCHDOG = 1 << 29,
};

/* 3 Embedded flash */
#define FLASH_ACCESS REGISTER(0x40023C00)
enum { FLASH_FIVE_WAITS = 5, FLASH_WAITS = 7, FLASH_CACHES = 3 << 9 };

/* 8 General-purpose pins */
struct gpio {
    volatile uint32_t mode, open_drain, speed, pull, input, output, set_reset, lock, alternate[2];
};
#define GPIO_A ((struct gpio *)0x40020000)
#define GPIO_B ((struct gpio *)0x40020400)
#define GPIO_C ((struct gpio *)0x40020800)
#define GPIO_D ((struct gpio *)0x40020C00)
#define GPIO_E ((struct gpio *)0x40021000)

/* 9 and 12 System configuration and external interrupts */
#define SYSCFG_EXTI(line) REGISTER(0x40013808 + 4 * ((line) / 4))
struct exti {
    volatile uint32_t interrupt, event, rising, falling, software, pending;
};
#define EXTI ((struct exti *)0x40013C00)

/* 17 and 18 Timers */
struct timer {
    volatile uint32_t control1, control2, slave, interrupt, status, event, mode1, mode2, outputs,
        count, prescaler, reload, repetition, compare[4], break_dead_time;
};
#define TIM1 ((struct timer *)0x40010000)
#define TIM2 ((struct timer *)0x40000000)
#define TIM3 ((struct timer *)0x40000400)
#define TIM5 ((struct timer *)0x40000C00)
#define TIM8 ((struct timer *)0x40010400)
enum {
    TIMER_ON = 1 << 0, TIMER_OVERFLOW_ONLY = 1 << 2, TIMER_PRELOAD = 1 << 7,
    TIMER_ENCODER = 3, TIMER_CAPTURE_INPUTS = 0x0101, TIMER_LONGEST_FILTER = 0xF0F0,
    TIMER_INTERRUPT_UPDATE = 1 << 0, TIMER_STATUS_UPDATE = 1 << 0, TIMER_EVENT_UPDATE = 1 << 0,
    TIMER_PWM1_CHANNEL_1_2 = 0x6868, TIMER_PWM2_CHANNEL_4 = 0x7000,
    TIMER_OUTPUTS_1_2 = 0x0011, TIMER_OUTPUT_4 = 0x1000,
    TIMER_BREAK_ON = 1 << 12, TIMER_BREAK_HIGH = 1 << 13, TIMER_IDLE_DRIVEN = 3 << 10,
    TIMER_MAIN_OUTPUT = 1 << 15,
};

/* 30 Serial port */
struct usart {
    volatile uint32_t status, data, baud, control1, control2, control3;
};
#define USART1 ((struct usart *)0x40011000)
enum {
    USART_FRAMING = 1 << 1, USART_NOISE = 1 << 2, USART_OVERRUN = 1 << 3,
    USART_RECEIVE = 1 << 2, USART_SEND = 1 << 3, USART_ON = 1 << 13,
    USART_ERROR_INTERRUPT = 1 << 0, USART_DMA_RECEIVE = 1 << 6, USART_DMA_SEND = 1 << 7,
};

/* 10 DMA: streams of the second controller */
struct dma_stream {
    volatile uint32_t control, remaining, peripheral, memory, memory1, fifo;
};
struct dma {
    volatile uint32_t low_status, high_status, low_clear, high_clear;
    struct dma_stream stream[8];
};
#define DMA2 ((struct dma *)0x40026400)
enum {
    DMA_ON = 1 << 0, DMA_ERROR_INTERRUPT = 1 << 2, DMA_DONE_INTERRUPT = 1 << 4,
    DMA_FROM_MEMORY = 1 << 6, DMA_CIRCULAR = 1 << 8, DMA_NEXT_BYTE = 1 << 10,
    DMA_HALF_WORDS = 1 << 11 | 1 << 13,
    DMA_STREAM_0_DONE = 1 << 5, DMA_STREAM_0_FLAGS = 0x3D, DMA_STREAM_7_FLAGS = 0x3D << 22,
    DMA_STREAM_7_ENDED = 1 << 27 | 1 << 25,
};
#define DMA_CHANNEL(n) ((uint32_t)(n) << 25)

/* 13 Converter */
struct adc {
    volatile uint32_t status, control1, control2, sample[2], offset[4], window[2], sequence[3],
        injected, injected_data[4], data;
};
#define ADC1 ((struct adc *)0x40012000)
#define ADC_COMMON REGISTER(0x40012304)
enum {
    ADC_QUARTER_CLOCK = 1 << 16, ADC_SCAN = 1 << 8, ADC_ON = 1 << 0, ADC_CONTINUOUS = 1 << 1,
    ADC_DMA = 1 << 8, ADC_DMA_FOREVER = 1 << 9, ADC_START = 1 << 30, ADC_STATUS_OVERRUN = 1 << 5,
};

/* 21 Independent watchdog, 24 random numbers, 38 debug, 39 device signature */
#define IWDG_KEY REGISTER(0x40003000)
#define IWDG_RELOAD REGISTER(0x40003008)
#define IWDG_STATUS REGISTER(0x4000300C)
#define RNG_CONTROL REGISTER(0x50060800)
#define RNG_STATUS REGISTER(0x50060804)
#define RNG_DATA REGISTER(0x50060808)
#define DEBUG_FREEZE_APB1 REGISTER(0xE0042008)
#define DEVICE_UID(word) REGISTER(0x1FFF7A10 + 4 * (word))

enum { IWDG_UNLOCK = 0x5555, IWDG_FEED = 0xAAAA, IWDG_START = 0xCCCC, IWDG_UPDATING = 3,
       RNG_ON = 1 << 2, RNG_READY = 1 << 0, RNG_FAULTS = 3 << 1, DEBUG_FREEZE_IWDG = 1 << 12 };

enum { IRQ_SUPPLY = 1, IRQ_SWITCHES_5_TO_9 = 23, IRQ_STEP_PULSE = 28, IRQ_SERIAL = 37,
       IRQ_SWITCHES_10_TO_15 = 40, IRQ_SERIAL_SENT = 70 };

/* places of the last registers, from the register maps at the end of each chapter */
_Static_assert(offsetof(struct rcc, status) == 0x74, "RCC_CSR");
_Static_assert(offsetof(struct rcc, ahb1_enable) == 0x30, "RCC_AHB1ENR");
_Static_assert(offsetof(struct rcc, apb1_enable) == 0x40, "RCC_APB1ENR");
_Static_assert(offsetof(struct gpio, alternate) == 0x20, "GPIOx_AFRL");
_Static_assert(offsetof(struct exti, pending) == 0x14, "EXTI_PR");
_Static_assert(offsetof(struct timer, count) == 0x24, "TIMx_CNT");
_Static_assert(offsetof(struct timer, break_dead_time) == 0x44, "TIM1_BDTR");
_Static_assert(offsetof(struct usart, control3) == 0x14, "USART_CR3");
_Static_assert(offsetof(struct dma, stream[7].fifo) == 0xCC, "DMA_S7FCR");
_Static_assert(offsetof(struct adc, sequence[2]) == 0x34, "ADC_SQR3");
_Static_assert(offsetof(struct adc, data) == 0x4C, "ADC_DR");

#endif
