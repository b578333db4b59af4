#include "core/encoder.h"

void encoder_start(struct encoder *encoder, uint16_t raw)
{
    *encoder = (struct encoder){.raw = raw};
}

void encoder_update(struct encoder *encoder, uint16_t raw, bool reversed)
{
    int32_t change = (int16_t)(uint16_t)(raw - encoder->raw);
    encoder->raw = raw;
    encoder->change = reversed ? -change : change;
    /* unsigned, because the count wraps and does not overflow */
    encoder->counts = (int32_t)((uint32_t)encoder->counts + (uint32_t)encoder->change);
}

void encoder_set_origin(struct encoder *encoder, int32_t counts)
{
    encoder->counts = counts;
    encoder->homed = true;
}
