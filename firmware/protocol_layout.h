/* Made from flex_robot_sim/rig/wire/protocol.py by `python3 -m flex_robot_sim.rig.wire.generate`.
 * Do not edit. Frames with their values in hex: test/data/rig_frames.txt.
 *
 * Body on the wire: struct header, struct of the frame, CRC-32; little-endian, packed.
 */
#ifndef PROTOCOL_LAYOUT_H
#define PROTOCOL_LAYOUT_H

#include <stdint.h>

#define PROTOCOL_MAJOR 1
#define PROTOCOL_MINOR 0
#define SCHEMA_CRC UINT32_C(0x52869165)
#define NO_SESSION 0
#define FROM_BOARD 0x80    /* bit of the ids the board sends */
#define BODY_SHORTEST 8      /* header and CRC-32 */
#define BODY_LONGEST 96     /* header, longest fields, CRC-32 */
#define STUFFED_LONGEST 97  /* between the two zeros */

#define CONTROL_RATE_HZ 1000    /* control steps per second; upper limit of the telemetry rate */
#define WATCHDOG_MS 100    /* time without a set point after which the motors stop and the fault latches */
#define VALIDITY_MAX_MS 100    /* longest validity of a set point */
#define EVENT_REPEAT_MS 100    /* period of the repetition of an event without acknowledgement */
#define EVENT_CAPACITY 16    /* size of the queue of unacknowledged events */
#define HEALTH_PERIOD_MS 100    /* period of HEALTH */
#define PROFILE_CAPACITY 256    /* maximum number of segments of a profile */
#define SEGMENTS_PER_CHUNK 8    /* segments of a PROFILE_LOAD */
#define SEGMENT_MIN_US 1000    /* shortest segment of a profile */
#define SEGMENT_MAX_US 60000000    /* longest segment of a profile */
#define LATE_LIMIT_US 5000    /* largest delay of a control step while the motors are on */
#define DUTY_ONE 10000    /* encoded duty of the full voltage */
#define ADC_CONVERSIONS 16    /* conversions of 12 bits that are summed for one reading of a flex sensor */

enum state {
    STATE_BOOT = 0,
    STATE_DISARMED = 1,
    STATE_ARMED = 2,
    STATE_HOMING = 3,
    STATE_PROFILE = 4,
    STATE_FAULT = 5,
};

enum fault {
    FAULT_WATCHDOG = 1,
    FAULT_ESTOP_COMMAND = 2,
    FAULT_ESTOP_INPUT = 4,
    FAULT_LIMIT_SLIDE = 8,
    FAULT_LIMIT_TURN = 16,
    FAULT_ADC_ROOT = 32,
    FAULT_ADC_TIP = 64,
    FAULT_ENCODER_SLIDE = 128,
    FAULT_ENCODER_TURN = 256,
    FAULT_LOST_STEPS = 512,
    FAULT_STALL = 1024,
    FAULT_OVERCURRENT = 2048,
    FAULT_HOMING = 4096,
    FAULT_LATE = 8192,
    FAULT_SELF_TEST = 16384,
};

enum input {
    INPUT_SLIDE_LOWER = 1,
    INPUT_SLIDE_UPPER = 2,
    INPUT_TURN_LOWER = 4,
    INPUT_TURN_UPPER = 8,
    INPUT_STOP_BUTTON = 16,
    INPUT_SLIDE_HOMED = 32,
    INPUT_TURN_HOMED = 64,
    INPUT_PROFILE_LOADED = 128,
};

enum result {
    RESULT_ACCEPTED = 0,
    RESULT_WRONG_SESSION = 1,
    RESULT_READ_ONLY = 2,
    RESULT_NOT_ARMED = 3,
    RESULT_LATCHED = 4,
    RESULT_BUSY = 5,
    RESULT_MUST_DISARM = 6,
    RESULT_OUT_OF_RANGE = 7,
    RESULT_NOT_HOMED = 8,
    RESULT_OLD = 9,
    RESULT_CAUSE_PERSISTS = 10,
    RESULT_NO_PROFILE = 11,
    RESULT_BAD_PROFILE = 12,
};

enum mode {
    MODE_ALIVE = 0,
    MODE_DRIVE = 1,
};

enum joint {
    JOINT_SLIDE = 0,
    JOINT_TURN = 1,
};

enum event_kind {
    EVENT_KIND_BOOT = 0,
    EVENT_KIND_STATE = 1,
    EVENT_KIND_FAULT = 2,
    EVENT_KIND_HOMED = 3,
    EVENT_KIND_HOMING_LOST = 4,
    EVENT_KIND_PROFILE_DONE = 5,
    EVENT_KIND_SESSION = 6,
};

enum reset_cause {
    RESET_CAUSE_UNKNOWN = 0,
    RESET_CAUSE_POWER = 1,
    RESET_CAUSE_PIN = 2,
    RESET_CAUSE_SOFTWARE = 3,
    RESET_CAUSE_INDEPENDENT_WATCHDOG = 4,
    RESET_CAUSE_LOW_VOLTAGE = 5,
};

enum back_end {
    BACK_END_BOARD = 0,
    BACK_END_EMULATED_BOARD = 1,
    BACK_END_PYTHON = 2,
};

enum access {
    ACCESS_READ = 0,
    ACCESS_WRITE = 1,
};

enum parameter {
    PARAMETER_DUTY_MAX = 0,
    PARAMETER_STEP_RATE_MAX = 1,
    PARAMETER_STEP_ACCELERATION = 2,
    PARAMETER_SLIDE_SOFT_LOWER = 3,
    PARAMETER_SLIDE_SOFT_UPPER = 4,
    PARAMETER_TURN_SOFT_LOWER = 5,
    PARAMETER_TURN_SOFT_UPPER = 6,
    PARAMETER_SLIDE_HOME_COUNTS = 7,
    PARAMETER_TURN_HOME_COUNTS = 8,
    PARAMETER_HOME_DUTY = 9,
    PARAMETER_HOME_RATE = 10,
    PARAMETER_HOME_TIMEOUT = 11,
    PARAMETER_SLIDE_REVERSED = 12,
    PARAMETER_TURN_REVERSED = 13,
    PARAMETER_SWITCHES_FITTED = 14,
    PARAMETER_ENCODER_JUMP = 15,
    PARAMETER_LOST_STEPS = 16,
    PARAMETER_STALL_DUTY = 17,
    PARAMETER_STALL_COUNTS = 18,
    PARAMETER_STALL_TIME = 19,
    PARAMETER_CURRENT_MAX = 20,
    PARAMETER_CURRENT_TIME = 21,
    PARAMETER_ADC_LOW = 22,
    PARAMETER_ADC_HIGH = 23,
    PARAMETER_ADC_TIME = 24,
    PARAMETER_ADC_WATCH = 25,
};

struct __attribute__((packed)) header {
    uint8_t id;    /* id of the frame; bit 7: sent by the board */
    uint8_t session;    /* session of the last HELLO_ACK; 0: none */
    uint16_t sequence;    /* counter of the sender, see Sequence numbers */
};
_Static_assert(sizeof(struct header) == 4, "header");

struct __attribute__((packed)) segment {
    uint32_t duration;    /* SEGMENT_MIN_US to SEGMENT_MAX_US [us] */
    int16_t duty;    /* duty of the DC motor: -1 to 1 of the supply [1/10000 1] */
    int32_t step_rate;    /* pulse rate of the stepper [1/1000 steps/s] */
};
_Static_assert(sizeof(struct segment) == 10, "segment");

struct __attribute__((packed)) hello_frame {
    uint8_t major;    /* protocol version of the host; a different one makes the session read only */
    uint8_t minor;    /* increases with compatible additions */
    uint32_t schema_crc;    /* SCHEMA_CRC of the host; a different one makes the session read only */
    uint32_t nonce;    /* random number; a repeated one requests the same HELLO_ACK again */
};
_Static_assert(sizeof(struct hello_frame) == 10, "hello_frame");

struct __attribute__((packed)) time_frame {
    uint32_t token;    /* returned in TIME_REPLY */
};
_Static_assert(sizeof(struct time_frame) == 4, "time_frame");

struct __attribute__((packed)) event_ack_frame {
    uint16_t number;    /* number of the EVENT */
};
_Static_assert(sizeof(struct event_ack_frame) == 2, "event_ack_frame");

struct __attribute__((packed)) setpoint_frame {
    uint8_t mode;    /* kind of set point */
    int16_t duty;    /* duty of the DC motor: -1 to 1 of the supply [1/10000 1] */
    int32_t step_rate;    /* pulse rate of the stepper [1/1000 steps/s] */
    uint16_t validity;    /* time after which the motors stop; 1 to VALIDITY_MAX_MS [ms] */
};
_Static_assert(sizeof(struct setpoint_frame) == 9, "setpoint_frame");

struct __attribute__((packed)) home_frame {
    uint8_t joint;    /* joint */
};
_Static_assert(sizeof(struct home_frame) == 1, "home_frame");

struct __attribute__((packed)) zero_frame {
    uint8_t joint;    /* joint */
    int32_t counts;    /* new counts at the present position [counts] */
};
_Static_assert(sizeof(struct zero_frame) == 5, "zero_frame");

struct __attribute__((packed)) param_frame {
    uint8_t access;    /* read or write */
    uint8_t parameter;    /* parameter */
    int32_t value;    /* new value, in the unit of the parameter; read: 0 */
};
_Static_assert(sizeof(struct param_frame) == 6, "param_frame");

struct __attribute__((packed)) profile_load_frame {
    uint16_t first;    /* index of the first segment of this chunk */
    uint16_t total;    /* number of segments of the profile, 1 to PROFILE_CAPACITY */
    uint32_t crc;    /* CRC-32 over the bytes of all segments of the profile */
    struct segment segments[8];    /* segments from `first` up to `total`; unused ones are zero */
};
_Static_assert(sizeof(struct profile_load_frame) == 88, "profile_load_frame");

struct __attribute__((packed)) profile_start_frame {
    uint32_t crc;    /* CRC of the profile */
};
_Static_assert(sizeof(struct profile_start_frame) == 4, "profile_start_frame");

struct __attribute__((packed)) stream_frame {
    uint16_t rate;    /* 0: none; otherwise a divisor of CONTROL_RATE_HZ [Hz] */
};
_Static_assert(sizeof(struct stream_frame) == 2, "stream_frame");

struct __attribute__((packed)) hello_ack_frame {
    uint8_t major;    /* protocol version of the board */
    uint8_t minor;    /* increases with compatible additions */
    uint32_t schema_crc;    /* SCHEMA_CRC of the board */
    uint32_t nonce;    /* nonce of the HELLO */
    uint32_t boot_id;    /* different after each boot */
    uint8_t uid[12];    /* unique number of the processor */
    uint32_t firmware;    /* version: major * 65536 + minor * 256 + patch */
    uint8_t back_end;    /* implementation of the board */
    uint8_t reset_cause;    /* cause of this boot */
    uint16_t counts_per_turn;    /* counts per turn of both encoders [counts] */
    uint16_t steps_per_turn;    /* pulses per turn of the stepper [steps] */
    uint16_t control_rate;    /* rate of the control steps [Hz] */
};
_Static_assert(sizeof(struct hello_ack_frame) == 38, "hello_ack_frame");

struct __attribute__((packed)) ack_frame {
    uint8_t command;    /* id of the command */
    uint8_t result;    /* result of the command */
    uint16_t command_sequence;    /* sequence number of the command */
    uint8_t state;    /* state after it */
    uint16_t faults;    /* latched faults after it [bits] */
    int32_t value;    /* depends on command and result, see Acknowledgements */
};
_Static_assert(sizeof(struct ack_frame) == 11, "ack_frame");

struct __attribute__((packed)) time_reply_frame {
    uint32_t token;    /* token of the TIME */
    uint32_t received;    /* board clock, wraps at 2^32 [us] */
    uint32_t sent;    /* board clock, wraps at 2^32 [us] */
};
_Static_assert(sizeof(struct time_reply_frame) == 12, "time_reply_frame");

struct __attribute__((packed)) telemetry_frame {
    uint32_t time;    /* board clock at the start of the step, wraps at 2^32 [us] */
    int32_t slide_counts;    /* encoder of the slide; positive duty increases it [counts] */
    int32_t turn_counts;    /* encoder of the turn; a positive step rate increases it [counts] */
    uint16_t adc_root;    /* root flex sensor, sum of ADC_CONVERSIONS [counts] */
    uint16_t adc_tip;    /* tip flex sensor, sum of ADC_CONVERSIONS [counts] */
    int16_t duty;    /* duty applied to the DC motor [1/10000 1] */
    int32_t step_position;    /* sum of the pulses since boot, with sign [steps] */
    int32_t step_rate;    /* present pulse rate, on the ramp [1/1000 steps/s] */
    uint8_t state;    /* state of the board */
    uint8_t inputs;    /* switches, button, homed joints [bits] */
    uint16_t faults;    /* latched faults [bits] */
    uint16_t setpoint_sequence;    /* sequence number of the last accepted SETPOINT */
    int16_t current;    /* current of the DC motor [1/1000 A] */
};
_Static_assert(sizeof(struct telemetry_frame) == 34, "telemetry_frame");

struct __attribute__((packed)) health_frame {
    uint32_t uptime;    /* time since boot [ms] */
    uint32_t frames;    /* accepted frames */
    uint32_t crc_errors;    /* byte groups between zeros with a wrong CRC or stuffing */
    uint32_t length_errors;    /* frames with a correct CRC and a wrong length */
    uint32_t unknown_ids;    /* frames with a correct CRC and an unknown id */
    uint32_t framing_errors;    /* bytes with a framing, parity or noise error of the port */
    uint32_t overruns;    /* bytes lost because reading was too slow */
    uint32_t refused;    /* rejected set points */
    uint8_t last_refusal;    /* reason of the last rejection */
    uint32_t late_steps;    /* control steps that started more than 1 ms late */
    uint32_t longest_step;    /* longest control step [us] */
    uint32_t dropped_frames;    /* frames dropped because the port was busy */
    uint32_t lost_events;    /* events lost because the queue was full */
};
_Static_assert(sizeof(struct health_frame) == 49, "health_frame");

struct __attribute__((packed)) event_frame {
    uint16_t number;    /* number of the event since boot */
    uint32_t time;    /* board clock at the event, wraps at 2^32 [us] */
    uint8_t kind;    /* kind of event */
    uint8_t state;    /* state after it */
    uint16_t faults;    /* latched faults after it [bits] */
    int32_t detail;    /* depends on kind, see Events */
};
_Static_assert(sizeof(struct event_frame) == 14, "event_frame");

/* X(name, id, bytes of its fields, bytes on the wire) */
#define FRAMES(X) \
    X(HELLO, 0x01, 10, 21) \
    X(TIME, 0x02, 4, 15) \
    X(EVENT_ACK, 0x03, 2, 13) \
    X(SETPOINT, 0x10, 9, 20) \
    X(ARM, 0x20, 0, 11) \
    X(DISARM, 0x21, 0, 11) \
    X(CLEAR, 0x22, 0, 11) \
    X(HOME, 0x23, 1, 12) \
    X(ZERO, 0x24, 5, 16) \
    X(PARAM, 0x25, 6, 17) \
    X(PROFILE_LOAD, 0x26, 88, 99) \
    X(PROFILE_START, 0x27, 4, 15) \
    X(STREAM, 0x28, 2, 13) \
    X(ESTOP, 0x2f, 0, 11) \
    X(HELLO_ACK, 0x81, 38, 49) \
    X(ACK, 0x82, 11, 22) \
    X(TIME_REPLY, 0x83, 12, 23) \
    X(TELEMETRY, 0x90, 34, 45) \
    X(HEALTH, 0x91, 49, 60) \
    X(EVENT, 0x92, 14, 25) \

enum frame_id {
    FRAME_HELLO = 0x01,
    FRAME_TIME = 0x02,
    FRAME_EVENT_ACK = 0x03,
    FRAME_SETPOINT = 0x10,
    FRAME_ARM = 0x20,
    FRAME_DISARM = 0x21,
    FRAME_CLEAR = 0x22,
    FRAME_HOME = 0x23,
    FRAME_ZERO = 0x24,
    FRAME_PARAM = 0x25,
    FRAME_PROFILE_LOAD = 0x26,
    FRAME_PROFILE_START = 0x27,
    FRAME_STREAM = 0x28,
    FRAME_ESTOP = 0x2f,
    FRAME_HELLO_ACK = 0x81,
    FRAME_ACK = 0x82,
    FRAME_TIME_REPLY = 0x83,
    FRAME_TELEMETRY = 0x90,
    FRAME_HEALTH = 0x91,
    FRAME_EVENT = 0x92,
};

/* X(name, id, default, least, most) */
#define PARAMETERS(X) \
    X(DUTY_MAX, 0, 10000, 0, 10000) \
    X(STEP_RATE_MAX, 1, 6400, 0, 50000) \
    X(STEP_ACCELERATION, 2, 32000, 100, 1000000) \
    X(SLIDE_SOFT_LOWER, 3, 1500, -1073741824, 1073741824) \
    X(SLIDE_SOFT_UPPER, 4, 88500, -1073741824, 1073741824) \
    X(TURN_SOFT_LOWER, 5, -535, -1073741824, 1073741824) \
    X(TURN_SOFT_UPPER, 6, 535, -1073741824, 1073741824) \
    X(SLIDE_HOME_COUNTS, 7, 600, -1073741824, 1073741824) \
    X(TURN_HOME_COUNTS, 8, -573, -1073741824, 1073741824) \
    X(HOME_DUTY, 9, 3000, 0, 10000) \
    X(HOME_RATE, 10, 320, 0, 50000) \
    X(HOME_TIMEOUT, 11, 60000, 100, 600000) \
    X(SLIDE_REVERSED, 12, 0, 0, 1) \
    X(TURN_REVERSED, 13, 0, 0, 1) \
    X(SWITCHES_FITTED, 14, 15, 0, 15) \
    X(ENCODER_JUMP, 15, 200, 10, 10000) \
    X(LOST_STEPS, 16, 32, 1, 100000) \
    X(STALL_DUTY, 17, 4000, 0, 10000) \
    X(STALL_COUNTS, 18, 5, 1, 10000) \
    X(STALL_TIME, 19, 300, 10, 10000) \
    X(CURRENT_MAX, 20, 2500, 0, 30000) \
    X(CURRENT_TIME, 21, 50, 1, 10000) \
    X(ADC_LOW, 22, 655, 0, 65535) \
    X(ADC_HIGH, 23, 64865, 0, 65535) \
    X(ADC_TIME, 24, 20, 1, 10000) \
    X(ADC_WATCH, 25, 3, 0, 3) \

#define PARAMETER_COUNT 26

#endif
