/* The codec behind three functions, so that Python can compare it with its own. */
#include <string.h>

#include "core/frames.h"

size_t codec_write(uint8_t *out, uint8_t id, uint8_t session, uint16_t sequence, const void *fields);
size_t codec_read(struct frame_reader *reader, const uint8_t *bytes, size_t size, uint8_t *bodies);
size_t codec_reader_size(void);

size_t codec_write(uint8_t *out, uint8_t id, uint8_t session, uint16_t sequence, const void *fields)
{
    return frame_write(out, (struct header){id, session, sequence}, fields);
}

size_t codec_reader_size(void)
{
    return sizeof(struct frame_reader);
}

/* Headers and fields of the frames that `bytes` complete go to `bodies`; returns their size. */
size_t codec_read(struct frame_reader *reader, const uint8_t *bytes, size_t size, uint8_t *bodies)
{
    struct frame frame;
    size_t written = 0;
    for (size_t i = 0; i < size; i++) {
        if (frame_reader_take(reader, bytes[i], &frame)) {
            memcpy(bodies + written, &frame.header, sizeof frame.header);
            written += sizeof frame.header;
            size_t fields = (size_t)frame_fields_size(frame.header.id);
            memcpy(bodies + written, frame.fields, fields);
            written += fields;
        }
    }
    return written;
}
