#!/bin/sh
# usage.sh SIZE ELF...: flash and RAM of each program, and the functions with the largest frames.
size=$1
shift
for elf in "$@"; do
    "$size" "$elf" | awk -v name="$elf" 'NR == 2 {
        printf "%-22s flash %6d B, RAM %6d B with the stack of 8192 B\n", name, $1 + $2, $2 + $3 }'
done
echo 'largest stack frames:'
find "$(dirname "$1")/target" -name '*.su' -exec cat {} + | sort -k 2 -n -r -t "$(printf '\t')" |
    awk -F '\t' 'NR <= 6 { sub(/.*:/, "", $1); printf "  %5d B  %s\n", $2, $1 }'
