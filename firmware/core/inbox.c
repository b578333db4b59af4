#include "core/inbox.h"

#include "core/memory.h"

bool inbox_take(struct inbox *inbox, uint8_t byte, struct received_frame *frame)
{
    struct frame arrived;
    if (!frame_reader_take(&inbox->reader, byte, &arrived)) {
        return false;
    }
    frame->header = arrived.header;
    memcpy(frame->fields, arrived.fields, (size_t)frame_fields_size(arrived.header.id));
    return true;
}

void inbox_keep(struct inbox *inbox, const struct received_frame *frame)
{
    inbox->waiting[(inbox->first + inbox->count++) % INBOX_CAPACITY] = *frame;
}

bool inbox_next(struct inbox *inbox, struct received_frame *frame)
{
    if (inbox->count == 0) {
        return false;
    }
    *frame = inbox->waiting[inbox->first];
    inbox->first = (inbox->first + 1) % INBOX_CAPACITY;
    inbox->count--;
    return true;
}
