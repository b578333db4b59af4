#include "core/outbox.h"

#include "core/frames.h"
#include "hal/hal.h"

enum { ROOM_FOR_ANSWERS = 512 };

bool outbox_send(struct outbox *outbox, uint8_t id, const void *fields, enum urgency urgency)
{
    uint8_t bytes[FRAME_ON_WIRE_LONGEST];
    struct header header = {.id = id, .session = outbox->session, .sequence = outbox->sequence};
    size_t size = frame_write(bytes, header, fields);
    size_t reserve = urgency == REGULAR ? ROOM_FOR_ANSWERS : 0;
    if (hal_serial_room() < size + reserve) {
        outbox->dropped++;
        return false;
    }
    hal_serial_write(bytes, size);
    outbox->sequence++;
    return true;
}
