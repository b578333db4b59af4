# Deepest stack of a program, from the call graph of the compiler (-fcallgraph-info=su).
#
# A call through a pointer may reach every function that has no direct call and is no handler.
# Interrupts may all occur at once, each on top of the others. A recursive function causes an error,
# because then there is no deepest stack.

BEGIN { LIBRARY = 100; EXCEPTION = 36 }     # a division of the compiler's; eight words and a gap

function text(name,   at) {
    at = index($0, name ": \"") + length(name) + 3
    return substr($0, at, index(substr($0, at), "\"") - 1)
}

/^node:/ && /bytes \(/ {
    match($0, /[0-9]+ bytes \(/)
    frame[text("title")] = substr($0, RSTART) + 0
    if ($0 ~ /\(dynamic\)/) fail("an array without a fixed length in " text("title"))
}
/^edge:/ {
    from = text("sourcename"); to = text("targetname")
    calls[from, ++count[from]] = to
    called[to] = 1
}

function fail(why) { print "stack: " why > "/dev/stderr"; failed = 1; exit 1 }

function short(name) { sub(/.*:/, "", name); return name }

function depth(name,   i, deepest, below) {
    if (name in known) return known[name]
    if (name in under_way) fail(short(name) " calls itself")
    under_way[name] = 1
    deepest = 0
    for (i = 1; i <= count[name]; i++) {
        below = depth(calls[name, i])
        if (below > deepest) { deepest = below; next_of[name] = calls[name, i] }
    }
    delete under_way[name]
    return known[name] = deepest + (name == "__indirect_call" ? 0 : name in frame ? frame[name] : LIBRARY)
}

END {
    if (failed) exit 1
    for (name in frame) {
        if (!(name in called) && name !~ /_handler$/) calls["__indirect_call", ++count["__indirect_call"]] = name
    }
    for (name in frame) {
        if (name ~ /_handler$/ && name != "reset_handler" && name != "crash_handler") interrupts += EXCEPTION + depth(name)
    }
    total = depth("reset_handler") + interrupts
    printf "deepest stack: %d B of %d B, %d B of them by interrupts:\n  ", total, size, interrupts
    for (name = "reset_handler"; name != ""; name = next_of[name]) {
        if (name != "__indirect_call") printf "%s%s %d", (name == "reset_handler" ? "" : " > "), short(name), (name in frame ? frame[name] : LIBRARY)
    }
    print ""
    if (total > size) fail(total " B do not fit " size " B")
}
