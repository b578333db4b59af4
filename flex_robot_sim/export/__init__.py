"""Export of designed shapers: C99, IEC 61131-3 structured text, FIR coefficients and Klipper."""
