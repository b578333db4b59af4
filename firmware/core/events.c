#include "core/events.h"

#include <stddef.h>

void events_add(struct events *events, struct event_frame event)
{
    event.number = events->number++;
    if (events->count == EVENT_CAPACITY) {
        events->lost++;
        return;
    }
    events->waiting[(events->first + events->count++) % EVENT_CAPACITY] = event;
}

const struct event_frame *events_due(const struct events *events, uint32_t now)
{
    bool due = !events->sent || now - events->sent_at >= EVENT_REPEAT_MS * 1000u;
    return events->count != 0 && due ? events->waiting + events->first : NULL;
}

void events_sent(struct events *events, uint32_t now)
{
    events->sent = true;
    events->sent_at = now;
}

void events_acknowledge(struct events *events, uint16_t number)
{
    if (events->count != 0 && events->waiting[events->first].number == number) {
        events->first = (events->first + 1) % EVENT_CAPACITY;
        events->count--;
        events->sent = false;
    }
}
