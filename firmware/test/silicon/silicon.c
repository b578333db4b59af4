#include "test/silicon/silicon.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "hal/handlers.h"

#define PAGE 0x1000u
enum { TRAP_FLAG = 0x100, WRITES = 2 };         /* of the processor of this computer */

/* pages with registers: mapped with traps for the program, and always accessible for this file */
static struct {
    uintptr_t begin;
    size_t size;
    uint8_t *view;
} areas[] = {
    {0x1FFF7000, PAGE, NULL}, {0x40000000, 0x30000, NULL}, {0x50060000, PAGE, NULL},
    {0xE000E000, PAGE, NULL}, {0xE0042000, PAGE, NULL},
};
enum { AREAS = sizeof areas / sizeof areas[0] };

struct surroundings around;
static sigjmp_buf reset_exit;
static struct { uint32_t address, before; bool writes; } access_now;

static uint32_t *word_at(uint32_t address)
{
    for (unsigned i = 0; i < AREAS; i++) {
        if (address >= areas[i].begin && address - areas[i].begin < areas[i].size) {
            return (uint32_t *)(void *)(areas[i].view + ((address - areas[i].begin) & ~3u));
        }
    }
    fprintf(stderr, "no register at %#x\n", address);
    abort();
}

uint32_t reg(uint32_t address)
{
    return *word_at(address);
}

void set_reg(uint32_t address, uint32_t value)
{
    *word_at(address) = value;
}

uint32_t bits(uint32_t address, unsigned lowest, unsigned count)
{
    return reg(address) >> lowest & ((1u << count) - 1);
}

static bool is_in_port(uint32_t address)
{
    return address >= GPIO && address < GPIO + 5 * 0x400;
}

/* Pin 15 of port E is the break input of TIM1 (its function 1). */
static void follow_break_input(void)
{
    bool routed = bits(port('E', MODER), 30, 2) == 2 && bits(port('E', AFRL + 4), 28, 4) == 1;
    bool high = around.high[4] >> 15;
    if (routed && bits(TIM_1 + BDTR, 12, 1) && bits(TIM_1 + BDTR, 13, 1) == high) {
        *word_at(TIM_1 + BDTR) &= ~(1u << 15);
        *word_at(TIM_1 + SR) |= 1u << 7;
    }
}

static void write_port(uint32_t address, uint32_t before, uint32_t value)
{
    uint32_t base = address & ~0x3FFu, which = (base - GPIO) / 0x400;
    if (address - base == BSRR) {
        uint32_t out = reg(base + ODR);
        set_reg(base + ODR, (out & ~(value >> 16)) | (value & 0xFFFF));
        value = 0;
    }
    set_reg(address, value);
    for (unsigned pin = 0; address - base == MODER && pin < 16; pin++) {
        if ((value >> 2 * pin & 3) == 1 && (before >> 2 * pin & 3) != 1) {
            uint16_t *which_way = bits(base + ODR, pin, 1) ? around.rose_as_output
                                                          : around.fell_as_output;
            which_way[which] |= (uint16_t)(1u << pin);
        }
    }
}

static void write_watchdog(uint32_t address, uint32_t value)
{
    static bool unlocked;
    if (address == IWDG_KR) {
        unlocked = value == 0x5555;
        around.fed = value == 0xCCCC ? 0 : around.fed + (value == 0xAAAA && around.fed >= 0);
    } else if (unlocked) {
        set_reg(address, value);
    }
}

/* The sequence goes round until the DMA has filled its memory; power-down ends it. */
static void write_converter(uint32_t before, uint32_t value)
{
    static uint32_t powered_at;
    if (!(before & 1) && value & 1) {
        powered_at = reg(TIM_5 + CNT);
    }
    around.runs_converter = around.runs_converter && value & 1;
    if (value & 1u << 30 && before & 1 && reg(TIM_5 + CNT) - powered_at >= 3) {
        around.sequence_slipped = around.sequence_slipped || around.runs_converter;
        around.runs_converter = true;
        if (value & 1 << 8 && bits(stream(0, SCR), 0, 1)) {
            *word_at(DMA2_LISR) |= 1u << 5;
        }
    }
    set_reg(ADC1_CR2, value & ~(1u << 30));
}

static void write_register(uint32_t address, uint32_t before, uint32_t value)
{
    if (is_in_port(address)) {
        write_port(address, before, value);
    } else if (address >= IWDG_KR && address <= IWDG_RLR) {
        write_watchdog(address, value);
    } else switch (address) {
    case RCC_CR:
        value &= ~(1u << 17 | 1u << 25);
        value |= (value >> 16 & 1 && around.crystal) ? 1u << 17 : 0;
        set_reg(address, value | (value & 1u << 24) << 1);
        break;
    case RCC_PLLCFGR:
        set_reg(address, bits(RCC_CR, 24, 1) ? before : value);     /* fixed while the PLL runs */
        break;
    case RCC_CFGR:
        set_reg(address, (value & ~0xCu) | (value & 3) << 2);
        break;
    case RCC_CSR:
        set_reg(address, value >> 24 & 1 ? value & 0x00FFFFFF : value);
        break;
    case EXTI_PR: case DMA2_LISR: case DMA2_HISR:
        set_reg(address, address == EXTI_PR ? before & ~value : before);
        break;
    case DMA2_LIFCR: case DMA2_HIFCR:
        *word_at(address - 8) &= ~value;
        set_reg(address, 0);
        break;
    case TIM_1 + SR: case TIM_2 + SR: case TIM_3 + SR: case TIM_5 + SR: case TIM_8 + SR:
        set_reg(address, before & value);
        break;
    case ADC1_CR2:
        write_converter(before, value);
        break;
    case RNG_CR:
        set_reg(address, value);
        set_reg(RNG_SR, value >> 2 & 1);
        break;
    case SCB_AIRCR:
        if (value == 0x05FA0004) {
            siglongjmp(reset_exit, 1);
        }
        break;
    default:
        if (address >= NVIC_ISER && address < NVIC_ISER + 12) {
            value |= before;
        }
        set_reg(address, value);
    }
    follow_break_input();
}

static void before_reading(uint32_t address)
{
    if (is_in_port(address) && (address & 0x3FF) == IDR) {
        uint32_t base = address & ~0x3FFu, level = around.high[(base - GPIO) / 0x400];
        for (unsigned pin = 0; pin < 16; pin++) {
            if (bits(base + MODER, 2 * pin, 2) == 1) {
                level = (level & ~(1u << pin)) | (reg(base + ODR) & 1u << pin);
            }
        }
        set_reg(address, level);
    } else if (address == TIM_5 + CNT && bits(TIM_5 + CR1, 0, 1)) {
        set_reg(address, reg(address) + 1);
    }
}

static void protect(uint32_t address, int protection)
{
    mprotect((void *)(uintptr_t)(address & ~(PAGE - 1)), PAGE, protection);
}

/* Execute the trapped instruction alone, and return after it. */
static void on_access(int number, siginfo_t *info, void *context)
{
    (void)number;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    access_now.address = (uint32_t)(uintptr_t)info->si_addr & ~3u;
    access_now.writes = registers[REG_ERR] & WRITES;
    before_reading(access_now.address);
    access_now.before = reg(access_now.address);
    protect(access_now.address, PROT_READ | PROT_WRITE);
    registers[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    protect(access_now.address, PROT_NONE);
    if (access_now.writes) {
        uint32_t value = reg(access_now.address);
        set_reg(access_now.address, access_now.before);
        write_register(access_now.address, access_now.before, value);
    }
}

static void map_registers(void)
{
    int file = memfd_create("registers", 0);
    off_t at = 0;
    for (unsigned i = 0; i < AREAS; i++) {
        if (ftruncate(file, at + (off_t)areas[i].size) != 0) {
            abort();
        }
        void *seen = mmap((void *)areas[i].begin, areas[i].size, PROT_NONE,
                          MAP_SHARED | MAP_FIXED_NOREPLACE, file, at);
        areas[i].view = mmap(NULL, areas[i].size, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
        if (seen == MAP_FAILED || areas[i].view == MAP_FAILED) {
            abort();
        }
        at += (off_t)areas[i].size;
    }
    struct sigaction access = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO};
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &access, NULL);
    sigaction(SIGTRAP, &step, NULL);
}

void silicon_power_up(void)
{
    if (areas[0].view == NULL) {
        map_registers();
    }
    for (unsigned i = 0; i < AREAS; i++) {
        memset(areas[i].view, 0, areas[i].size);
    }
    around = (struct surroundings){.crystal = true, .fed = -1};
    set_reg(RCC_CR, 0x83);                      /* reset values of RM0090 that are not 0 */
    set_reg(RCC_PLLCFGR, 0x24003010);
    set_reg(RCC_AHB1ENR, 0x00100000);
    set_reg(RCC_CSR, 0x0E000000);
    set_reg(POWER_CR, 0x4000);
    set_reg(port('A', MODER), 0xA8000000);
    set_reg(port('B', MODER), 0x280);
    set_reg(port('B', PUPDR), 0x100);
    set_reg(IWDG_RLR, 0xFFF);
    set_reg(RNG_DR, 12345);
    set_reg(UNIQUE_ID, 77);
}

bool silicon_resets(void (*something)(void))
{
    if (sigsetjmp(reset_exit, 1)) {
        return true;
    }
    something();
    return false;
}

void give_level(char name, unsigned pin, bool high)
{
    unsigned which = (unsigned)(name - 'A');
    uint16_t bit = (uint16_t)(1u << pin);
    bool rises = high && !(around.high[which] & bit);
    around.high[which] = (uint16_t)(high ? around.high[which] | bit : around.high[which] & ~bit);
    if (rises && bits((uint32_t)SYSCFG_EXTICR + pin / 4 * 4, pin % 4 * 4, 4) == which) {
        *word_at(EXTI_PR) |= reg(EXTI_RTSR) & bit;
    }
    follow_break_input();
}

void give_supply(bool low)
{
    bool watched = bits(POWER_CR, 4, 1);
    if (watched && low && !around.supply_is_low) {
        *word_at(EXTI_PR) |= reg(EXTI_RTSR) & 1u << 16;
    }
    around.supply_is_low = low;
    set_reg(POWER_CSR, watched && low ? 4 : 0);
}

static void (*pending_handler(void))(void)
{
    /* number: RM0090, table of vectors */
    uint32_t edges = reg(EXTI_PR) & reg(EXTI_IMR);
    struct { unsigned number; bool wants; void (*handler)(void); } lines[] = {
        {1, edges & 1u << 16, supply_handler},
        {23, edges & 0x3E0, switches_handler},
        {24, reg(TIM_1 + SR) & reg(TIM_1 + DIER) & 0x80, NULL},
        {28, reg(TIM_2 + SR) & reg(TIM_2 + DIER) & 0x5F, step_pulse_handler},
        {40, edges & 0xFC00, switches_handler},
        {70, bits(DMA2_HISR, 27, 1) & bits(stream(7, SCR), 4, 1), serial_sent_handler},
    };
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        unsigned number = lines[i].number;
        if (lines[i].wants && bits(NVIC_ISER + number / 32 * 4, number % 32, 1)) {
            return lines[i].handler ? lines[i].handler : abort;
        }
    }
    return NULL;
}

int serve_interrupts(void)
{
    int count = 0;
    for (void (*handler)(void); count < 1000 && (handler = pending_handler()) != NULL; count++) {
        handler();
    }
    return count;
}
