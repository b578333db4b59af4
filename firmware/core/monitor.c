#include "core/monitor.h"

static int32_t magnitude(int32_t value)
{
    return value < 0 ? -value : value;
}

/* Whether `so` has lasted for `milliseconds`. */
static bool spell_lasts(struct spell *spell, bool so, uint32_t now, int32_t milliseconds)
{
    if (so && !spell->lasts) {
        spell->since = now;
    }
    spell->lasts = so;
    return so && now - spell->since >= (uint32_t)milliseconds * 1000;
}

static bool at_rail(const struct observation *seen, int sensor, const struct parameters *parameters)
{
    const int32_t *value = parameters->value;
    return (value[PARAMETER_ADC_WATCH] & 1 << sensor)
        && ((int32_t)seen->flex[sensor] < value[PARAMETER_ADC_LOW]
            || (int32_t)seen->flex[sensor] > value[PARAMETER_ADC_HIGH]);
}

static bool has_lost_steps(const struct monitor *monitor, const struct observation *seen, int32_t most)
{
    /* differences of counters that wrap; in counts times steps per turn, so that nothing is rounded */
    int64_t counts = (int32_t)((uint32_t)seen->counts[1] - (uint32_t)monitor->turn_counts);
    int64_t steps = (int32_t)((uint32_t)seen->steps - (uint32_t)monitor->steps);
    int64_t apart = counts * STEPS_PER_TURN - steps * COUNTS_PER_TURN;
    return apart > (int64_t)most * STEPS_PER_TURN || apart < -(int64_t)most * STEPS_PER_TURN;
}

static bool has_stalled(struct monitor *monitor, const struct observation *seen, const int32_t *value)
{
    if (!monitor->stall.lasts) {
        return false;
    }
    int32_t moved = (int32_t)((uint32_t)seen->counts[0] - (uint32_t)monitor->stall_counts);
    if (moved >= value[PARAMETER_STALL_COUNTS] || moved <= -value[PARAMETER_STALL_COUNTS]) {
        monitor->stall.since = seen->now;
        monitor->stall_counts = seen->counts[0];
    }
    return seen->now - monitor->stall.since >= (uint32_t)value[PARAMETER_STALL_TIME] * 1000;
}

uint16_t monitor_look(struct monitor *monitor, const struct observation *seen,
                      const struct parameters *parameters)
{
    const int32_t *value = parameters->value;
    unsigned found = seen->stop_button ? FAULT_ESTOP_INPUT : 0;
    for (int sensor = 0; sensor < 2; sensor++) {
        if (spell_lasts(&monitor->rail[sensor], at_rail(seen, sensor, parameters), seen->now,
                        value[PARAMETER_ADC_TIME])) {
            found |= (unsigned)FAULT_ADC_ROOT << sensor;
        }
        if (magnitude(seen->change[sensor]) > value[PARAMETER_ENCODER_JUMP]) {
            found |= (unsigned)FAULT_ENCODER_SLIDE << sensor;
        }
    }
    bool over = seen->moving && magnitude(seen->current) > value[PARAMETER_CURRENT_MAX];
    if (spell_lasts(&monitor->overcurrent, over, seen->now, value[PARAMETER_CURRENT_TIME])) {
        found |= FAULT_OVERCURRENT;
    }
    if (seen->moving && has_lost_steps(monitor, seen, value[PARAMETER_LOST_STEPS])) {
        found |= FAULT_LOST_STEPS;
    }
    if (seen->moving && monitor->is_drawn && seen->now - monitor->drawn_since >= DRAWN_MS * 1000u) {
        monitor_trust_steps(monitor, seen->counts[1], seen->steps);
        monitor->is_drawn = false;
    }
    if (seen->moving && has_stalled(monitor, seen, value)) {
        found |= FAULT_STALL;
    }
    if (seen->moving && seen->lateness > LATE_LIMIT_US) {
        found |= FAULT_LATE;
    }
    return (uint16_t)found;
}

uint16_t monitor_persisting(const struct observation *seen, const struct parameters *parameters)
{
    unsigned there = FAULT_SELF_TEST;       /* only a reset takes it away */
    there |= seen->stop_button ? FAULT_ESTOP_INPUT : 0;
    there |= at_rail(seen, 0, parameters) ? FAULT_ADC_ROOT : 0;
    there |= at_rail(seen, 1, parameters) ? FAULT_ADC_TIP : 0;
    return (uint16_t)there;
}

void monitor_trust_steps(struct monitor *monitor, int32_t turn_counts, int32_t steps)
{
    monitor->turn_counts = turn_counts;
    monitor->steps = steps;
}

void monitor_armed(struct monitor *monitor, const struct observation *seen)
{
    monitor_trust_steps(monitor, seen->counts[1], seen->steps);
    monitor->is_drawn = true;
    monitor->drawn_since = seen->now;
}

void monitor_applied(struct monitor *monitor, const struct observation *seen, int32_t duty,
                     const struct parameters *parameters)
{
    bool strong = duty != 0 && magnitude(duty) >= parameters->value[PARAMETER_STALL_DUTY];
    bool turned = (duty < 0) != (monitor->stall_duty < 0);
    if (strong && (!monitor->stall.lasts || turned)) {
        monitor->stall.since = seen->now;
        monitor->stall_counts = seen->counts[0];
    }
    monitor->stall.lasts = strong;
    monitor->stall_duty = duty;
}
