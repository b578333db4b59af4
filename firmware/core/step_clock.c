#include "core/step_clock.h"

enum { LATE_US = 1000 };

void step_clock_start(struct step_clock *clock, uint32_t now)
{
    *clock = (struct step_clock){.due = now + STEP_US, .started = now};
}

bool step_clock_begins(struct step_clock *clock, uint32_t now)
{
    if ((int32_t)(now - clock->due) < 0) {
        return false;
    }
    clock->lateness = now - clock->due;
    clock->late_steps += clock->lateness > LATE_US;
    /* the steps stay on their grid; missed steps are skipped */
    clock->due += (clock->lateness / STEP_US + 1) * STEP_US;
    clock->uptime += now - clock->started;
    clock->started = now;
    return true;
}

void step_clock_ends(struct step_clock *clock, uint32_t now)
{
    uint32_t duration = now - clock->started;
    if (duration > clock->longest) {
        clock->longest = duration;
    }
}
