#include "core/frames.h"

#include "core/cobs.h"
#include "core/crc32.h"
#include "core/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structures lie on the wire as they are");
_Static_assert(COBS_STUFFED(BODY_LONGEST) == STUFFED_LONGEST, "room for the longest frame");

enum { HEADER_SIZE = sizeof(struct header), CRC_SIZE = sizeof(uint32_t) };

int frame_fields_size(uint8_t id)
{
    switch (id) {
#define SIZE_OF(name, number, fields, wire) case number: return fields;
    FRAMES(SIZE_OF)
    default: return -1;
    }
}

/* Check the chunk that a zero has ended. */
static bool read_chunk(struct frame_reader *reader, struct frame *frame)
{
    long size = reader->size <= STUFFED_LONGEST ? cobs_unstuff(reader->chunk, reader->size) : -1;
    if (size < BODY_SHORTEST) {
        reader->crc_errors++;
        return false;
    }
    size_t crc_at = (size_t)size - CRC_SIZE;
    uint32_t crc;
    memcpy(&crc, reader->chunk + crc_at, CRC_SIZE);
    if (crc != crc32_add(0, reader->chunk, crc_at)) {
        reader->crc_errors++;
        return false;
    }
    memcpy(&frame->header, reader->chunk, HEADER_SIZE);
    frame->fields = reader->chunk + HEADER_SIZE;
    int fields_size = frame_fields_size(frame->header.id);
    if (fields_size < 0 || frame->header.id & FROM_BOARD) {
        reader->unknown_ids++;
        return false;
    }
    if (size != BODY_SHORTEST + fields_size) {
        reader->length_errors++;
        return false;
    }
    reader->frames++;
    return true;
}

bool frame_reader_take(struct frame_reader *reader, uint8_t byte, struct frame *frame)
{
    if (byte != 0) {
        if (reader->size < STUFFED_LONGEST) {
            reader->chunk[reader->size] = byte;
        }
        reader->size += reader->size <= STUFFED_LONGEST;
        return false;
    }
    bool complete = reader->size != 0 && read_chunk(reader, frame);
    reader->size = 0;
    return complete;
}

size_t frame_write(uint8_t *out, struct header header, const void *fields)
{
    uint8_t body[BODY_LONGEST];
    size_t fields_size = (size_t)frame_fields_size(header.id), crc_at = HEADER_SIZE + fields_size;
    memcpy(body, &header, HEADER_SIZE);
    if (fields_size != 0) {
        memcpy(body + HEADER_SIZE, fields, fields_size);
    }
    uint32_t crc = crc32_add(0, body, crc_at);
    memcpy(body + crc_at, &crc, CRC_SIZE);
    size_t size = cobs_stuff(out + 1, body, crc_at + CRC_SIZE);
    out[0] = out[size + 1] = 0;
    return size + 2;
}
