# Runs the scenarios of /scenarios one after the other, and tells of each on the way.
. /guest/names
kernel_complaints='BUG:|Oops|WARNING:|general protection|blocked for more than|refcount_t'

# Runs a file of the scenario, and says each line that it prints with a mark in front.
step() { # file, mark
    [ -s "$dir/$1" ] || return 0
    timeout -s KILL "$LIMIT" bash -c '. /guest/names; . /guest/lib; . "$0"' "$dir/$1" \
        >/run/said 2>&1
    step_code=$?
    sed "s/^/$2 /; s/\$//" /run/said
    return $step_code
}

# After a power cut in the middle of a scenario: which.
again=$(sed -n 's/.*again=\([0-9]*\).*/\1/p' /proc/cmdline)

for dir in /scenarios/*; do
    number=${dir##*/}
    [ -z "$again" ] || [ "$number" = "$again" ] || continue
    LIMIT=$(cat "$dir/limit")
    [ -n "$again" ] || echo "@@ begin $number"
    began=$(cut -d' ' -f1 /proc/uptime)
    mkdir -p /tmp/scenario; cd /tmp/scenario
    dmesg -c >/dev/null
    if [ -n "$again" ]; then
        again=
        step again '|'; echo "@@ exit $?"
        step after '+'; echo "@@ after $?"
    elif ! (. /guest/lib
        for drive in $(cat "$dir/drives"); do eval "blank \$$drive"; done
        step prepare '|'); then
        echo "@@ unprepared"
    else
        (. /guest/lib; for drive in $(cat "$dir/drives"); do eval "remember \$$drive"; done)
        step command '|'; echo "@@ exit $?"
        step after '+'; echo "@@ after $?"
    fi
    step undo '-'
    dmesg | grep -E "$kernel_complaints" | head -3 | sed 's/^/@@ kernel /'
    cd /; rm -rf /tmp/scenario
    ended=$(cut -d' ' -f1 /proc/uptime)
    echo "@@ end $(awk "BEGIN { print $ended - $began }")"
done
