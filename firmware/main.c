#include "hal/hal.h"
#include "core/frames.h"
int main(void);
int main(void){ struct hal_identity id; hal_start(&id); for(;;){ hal_poll(); hal_feed_watchdog(); } }
