/* CRC, stuffing and frames against published values and the golden frames of the project. */
#include <string.h>

#include "core/cobs.h"
#include "core/crc32.h"
#include "core/frames.h"
#include "test/check.h"

#ifndef GOLDEN_FRAMES
#define GOLDEN_FRAMES "../test/data/rig_frames.txt"
#endif

enum { LINE = 2000 };

TEST(crc_of_the_digits_is_the_published_check_value)
{
    CHECK_EQUAL(crc32_add(0, "123456789", 9), 0xCBF43926);      /* catalogue of CRCs, CRC-32 */
}

TEST(crc_goes_on_where_it_stopped)
{
    CHECK_EQUAL(crc32_add(crc32_add(0, "1234", 4), "56789", 5), 0xCBF43926);
}

/* worked out by hand from the rules of the paper */
TEST(stuffing_follows_its_paper)
{
    static const struct { uint8_t plain[4]; size_t size; uint8_t stuffed[6]; size_t stuffed_size; } cases[] = {
        {{0}, 0, {1}, 1},
        {{0}, 1, {1, 1}, 2},
        {{0, 0}, 2, {1, 1, 1}, 3},
        {{0x11, 0x22, 0x00, 0x33}, 4, {3, 0x11, 0x22, 2, 0x33}, 5},
        {{0x11, 0x00, 0x00, 0x00}, 4, {2, 0x11, 1, 1, 1}, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t out[8];
        CHECK_EQUAL(cobs_stuff(out, cases[i].plain, cases[i].size), cases[i].stuffed_size);
        CHECK(memcmp(out, cases[i].stuffed, cases[i].stuffed_size) == 0);
        CHECK_EQUAL(cobs_unstuff(out, cases[i].stuffed_size), cases[i].size);
        CHECK(memcmp(out, cases[i].plain, cases[i].size) == 0);
    }
}

TEST(longest_run_without_zero_takes_one_more_byte)
{
    uint8_t plain[300], out[COBS_STUFFED(300)];
    memset(plain, 7, sizeof plain);
    CHECK_EQUAL(cobs_stuff(out, plain, 253), 254);
    CHECK_EQUAL(out[0], 254);
    CHECK_EQUAL(cobs_stuff(out, plain, 300), 302);
    CHECK_EQUAL(out[0], 255);
    CHECK_EQUAL(out[255], 300 - 254 + 1);
    CHECK_EQUAL(cobs_unstuff(out, 302), 300);
    CHECK(memcmp(out, plain, 300) == 0);
}

TEST(what_is_no_stuffing_is_refused)
{
    uint8_t points_beyond[] = {3, 1}, holds_zero[] = {3, 1, 0}, begins_with_zero[] = {0, 1};
    CHECK_EQUAL(cobs_unstuff(points_beyond, 2), -1);
    CHECK_EQUAL(cobs_unstuff(holds_zero, 3), -1);
    CHECK_EQUAL(cobs_unstuff(begins_with_zero, 2), -1);
}

static size_t from_hex(uint8_t *out, const char *hex)
{
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        CHECK(sscanf(hex + 2 * i, "%2x", &byte) == 1);
        out[i] = (uint8_t)byte;
    }
    return size;
}

/* Bytes of one `name=type:value`, little-endian; no structure of the firmware takes part. */
static size_t field_bytes(uint8_t *out, const char *field)
{
    char kind[8], value[LINE];
    CHECK(sscanf(field, "%*[^=]=%7[^:]:%1999s", kind, value) == 2);
    if (strcmp(kind, "hex") == 0) {
        return from_hex(out, value);
    }
    size_t size = (size_t)atoi(kind + 1) / 8;
    unsigned long long number = (unsigned long long)strtoll(value, NULL, 10);
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)(number >> 8 * i);
    }
    return size;
}

static bool next_line(FILE *file, char *line)
{
    while (fgets(line, LINE, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != 0 && line[0] != '#') {
            return true;
        }
    }
    return false;
}

static void check_golden(const uint8_t *body, const uint8_t *wire, size_t wire_size)
{
    uint8_t out[FRAME_ON_WIRE_LONGEST];
    struct header header;
    memcpy(&header, body, sizeof header);
    int fields = frame_fields_size(header.id);
    CHECK_EQUAL(wire_size, frame_write(out, header, body + sizeof header));
    CHECK(memcmp(out, wire, wire_size) == 0);

    struct frame_reader reader = {0};
    struct frame frame;
    bool complete = false;
    for (size_t i = 0; i < wire_size; i++) {
        CHECK(!complete);
        complete = frame_reader_take(&reader, wire[i], &frame);
    }
    if (header.id & FROM_BOARD) {
        CHECK_EQUAL(reader.unknown_ids, 1);
    } else {
        CHECK(complete);
        CHECK(memcmp(&frame.header, &header, sizeof header) == 0);
        CHECK(fields == 0 || memcmp(frame.fields, body + sizeof header, (size_t)fields) == 0);
    }
}

TEST(golden_frames_are_written_and_read)
{
    static char name[LINE], fields[LINE], hex[LINE];
    unsigned ids_seen = 0;
    FILE *file = fopen(GOLDEN_FRAMES, "r");
    CHECK(file != NULL);
    while (next_line(file, name)) {
        uint8_t body[BODY_LONGEST], wire[FRAME_ON_WIRE_LONGEST];
        size_t size = 0;
        CHECK(next_line(file, fields) && next_line(file, hex));
        for (char *field = strtok(fields, " "); field != NULL; field = strtok(NULL, " ")) {
            size += field_bytes(body + size, field);
        }
        CHECK_EQUAL(size, sizeof(struct header) + (size_t)frame_fields_size(body[0]));
        check_golden(body, wire, from_hex(wire, hex));
        ids_seen++;
    }
    fclose(file);
    CHECK(ids_seen >= 20);
}

static unsigned feed(struct frame_reader *reader, const uint8_t *bytes, size_t size)
{
    struct frame frame;
    unsigned frames = 0;
    for (size_t i = 0; i < size; i++) {
        frames += frame_reader_take(reader, bytes[i], &frame);
    }
    return frames;
}

TEST(half_a_frame_costs_no_other)
{
    uint8_t wire[FRAME_ON_WIRE_LONGEST];
    struct setpoint_frame setpoint = {.mode = MODE_DRIVE, .duty = -2500, .validity = 50};
    size_t size = frame_write(wire, (struct header){FRAME_SETPOINT, 7, 1}, &setpoint);
    struct frame_reader reader = {0};
    CHECK_EQUAL(feed(&reader, wire, size / 2), 0);
    CHECK_EQUAL(feed(&reader, wire, size), 1);
    CHECK_EQUAL(reader.crc_errors, 1);
}

TEST(endless_chunk_is_counted_once_and_forgotten)
{
    uint8_t noise[1000], wire[FRAME_ON_WIRE_LONGEST];
    struct frame_reader reader = {0};
    memset(noise, 0x55, sizeof noise);
    size_t size = frame_write(wire, (struct header){FRAME_ARM, 7, 1}, NULL);
    CHECK_EQUAL(feed(&reader, noise, sizeof noise), 0);
    CHECK_EQUAL(feed(&reader, wire, size), 1);
    CHECK_EQUAL(reader.crc_errors, 1);
}

TEST(any_single_wrong_bit_is_noticed)
{
    uint8_t wire[FRAME_ON_WIRE_LONGEST];
    struct setpoint_frame setpoint = {.mode = MODE_DRIVE, .step_rate = 1600000, .validity = 50};
    size_t size = frame_write(wire, (struct header){FRAME_SETPOINT, 7, 1}, &setpoint);
    for (size_t bit = 8; bit < 8 * (size - 1); bit++) {
        struct frame_reader reader = {0};
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_EQUAL(feed(&reader, wire, size), 0);
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

int main(void)
{
    RUN(crc_of_the_digits_is_the_published_check_value);
    RUN(crc_goes_on_where_it_stopped);
    RUN(stuffing_follows_its_paper);
    RUN(longest_run_without_zero_takes_one_more_byte);
    RUN(what_is_no_stuffing_is_refused);
    RUN(golden_frames_are_written_and_read);
    RUN(half_a_frame_costs_no_other);
    RUN(endless_chunk_is_counted_once_and_forgotten);
    RUN(any_single_wrong_bit_is_noticed);
    return 0;
}
