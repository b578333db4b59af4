/*
 * The registers of an STM32F407 as the reference manual RM0090 describes them, at their addresses.
 *
 * The board back end, compiled for this computer, reads and writes them there; each access traps,
 * so that what hardware does on it can be done: ready flags, bits that clear by a 1, a break input
 * that holds the outputs off. Addresses are written down here a second time, on purpose.
 */
#ifndef FLEX_SILICON_H
#define FLEX_SILICON_H

#include <stdbool.h>
#include <stdint.h>

enum {
    POWER_CR = 0x40007000, POWER_CSR = 0x40007004,
    RCC_CR = 0x40023800, RCC_PLLCFGR = 0x40023804, RCC_CFGR = 0x40023808, RCC_AHB1ENR = 0x40023830,
    RCC_APB1ENR = 0x40023840, RCC_APB2ENR = 0x40023844, RCC_CSR = 0x40023874,
    FLASH_ACR = 0x40023C00,
    GPIO = 0x40020000, MODER = 0x00, PUPDR = 0x0C, IDR = 0x10, ODR = 0x14, BSRR = 0x18, AFRL = 0x20,
    SYSCFG_EXTICR = 0x40013808,
    EXTI_IMR = 0x40013C00, EXTI_RTSR = 0x40013C08, EXTI_PR = 0x40013C14,
    TIM_1 = 0x40010000, TIM_2 = 0x40000000, TIM_3 = 0x40000400, TIM_5 = 0x40000C00,
    TIM_8 = 0x40010400,
    CR1 = 0x00, CR2 = 0x04, SMCR = 0x08, DIER = 0x0C, SR = 0x10, CCMR1 = 0x18, CCMR2 = 0x1C,
    CCER = 0x20, CNT = 0x24, PSC = 0x28, ARR = 0x2C, CCR1 = 0x34, CCR2 = 0x38, CCR4 = 0x40,
    BDTR = 0x44,
    ADC1_SR = 0x40012000, ADC1_CR1 = 0x40012004, ADC1_CR2 = 0x40012008, ADC1_SMPR2 = 0x40012010,
    ADC1_SQR1 = 0x4001202C, ADC1_SQR3 = 0x40012034, ADC1_DR = 0x4001204C, ADC_CCR = 0x40012304,
    DMA2_LISR = 0x40026400, DMA2_HISR = 0x40026404, DMA2_LIFCR = 0x40026408,
    DMA2_HIFCR = 0x4002640C, DMA2_STREAM = 0x40026410, STREAM_SIZE = 0x18,
    SCR = 0x00, NDTR = 0x04, PAR = 0x08, M0AR = 0x0C,
    USART1_DR = 0x40011004, USART1_BRR = 0x40011008, USART1_CR1 = 0x4001100C,
    USART1_CR3 = 0x40011014,
    IWDG_KR = 0x40003000, IWDG_PR = 0x40003004, IWDG_RLR = 0x40003008,
    RNG_CR = 0x50060800, RNG_SR = 0x50060804, RNG_DR = 0x50060808,
    UNIQUE_ID = 0x1FFF7A10,
};
#define NVIC_ISER 0xE000E100u
#define NVIC_IPR 0xE000E400u
#define SCB_AIRCR 0xE000ED0Cu
#define DBGMCU_APB1_FZ 0xE0042008u

/* What lies around the chip. */
extern struct surroundings {
    bool crystal, supply_is_low;
    uint16_t high[5];               /* levels given to the pins of the ports A to E */
    int64_t fed;                    /* times that the watchdog was fed; -1: not started */
    bool runs_converter, sequence_slipped;  /* a start in the middle of a sequence shifts the inputs */
    uint16_t rose_as_output[5], fell_as_output[5];      /* level when a pin became an output */
} around;

/* All registers as after power-up, with a crystal and closed switches. */
void silicon_power_up(void);

/* Run something on the chip; true if it asked for a reset instead of returning. */
bool silicon_resets(void (*something)(void));

uint32_t reg(uint32_t address);
void set_reg(uint32_t address, uint32_t value);
uint32_t bits(uint32_t address, unsigned lowest, unsigned count);
static inline uint32_t port(char name, uint32_t offset)
{
    return (uint32_t)GPIO + 0x400u * (uint32_t)(name - 'A') + offset;
}
static inline uint32_t stream(unsigned number, uint32_t offset)
{
    return (uint32_t)DMA2_STREAM + STREAM_SIZE * number + offset;
}

/* Change the level of a pin, or the supply. */
void give_level(char name, unsigned pin, bool high);
void give_supply(bool low);

/* Serve interrupts until none is pending; returns how many there were, 1000 for no end of it. */
int serve_interrupts(void);

#endif
