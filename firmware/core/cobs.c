#include "core/cobs.h"

size_t cobs_stuff(uint8_t *out, const uint8_t *bytes, size_t size)
{
    size_t code_at = 0, at = 1;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            out[at++] = bytes[i];
        }
        if (bytes[i] == 0 || at - code_at > COBS_LONGEST) {
            out[code_at] = (uint8_t)(at - code_at);
            code_at = at++;
        }
    }
    out[code_at] = (uint8_t)(at - code_at);
    return at;
}

long cobs_unstuff(uint8_t *bytes, size_t size)
{
    size_t from = 0, to = 0;
    while (from < size) {
        size_t code = bytes[from], end = from + code;
        if (code == 0 || end > size) {
            return -1;
        }
        for (from++; from < end; from++) {
            if (bytes[from] == 0) {
                return -1;
            }
            bytes[to++] = bytes[from];
        }
        if (code <= COBS_LONGEST && from < size) {
            bytes[to++] = 0;
        }
    }
    return (long)to;
}
