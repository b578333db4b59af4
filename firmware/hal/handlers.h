/* What the vector table calls. A back end defines those that it enables. */
#ifndef FLEX_HANDLERS_H
#define FLEX_HANDLERS_H

_Noreturn void reset_handler(void);
void crash_handler(void);

void systick_handler(void);
void supply_handler(void);
void step_pulse_handler(void);
void serial_handler(void);
void serial_sent_handler(void);
void switches_handler(void);

#endif
