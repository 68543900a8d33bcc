# Runs those scenarios of /scenarios that it is told to, by number, and tells of each on the way.
. /guest/names
kernel_complaints='BUG:|Oops|WARNING:|general protection|blocked for more than|refcount_t'

# Runs a file of the scenario, and says each line that it prints with a mark in front.
step() { # file, mark
    [ -s "$dir/$1" ] || return 0
    timeout -s KILL "$LIMIT" bash -c '. /guest/names; . /guest/lib; . "$0"' "$dir/$1" \
        >/run/said 2>&1
    step_code=$?
    awk -v mark="$2" '{ print mark " " $0 }' /run/said
    return $step_code
}

# Begins a scenario, or goes on with the one in whose middle the power was cut.
scenario() { # number; its first text
    dir=/scenarios/$1
    LIMIT=$(cat "$dir/limit")
    mkdir -p /tmp/scenario; cd /tmp/scenario
    dmesg -c >/dev/null
    if [ "$2" = again ]; then
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
    echo "@@ end"
}

again=$(sed -n 's/.*again=\([0-9]*\).*/\1/p' /proc/cmdline)
[ -z "$again" ] || { echo "@@ again"; scenario "$again" again; }
while echo "@@ ready" && read -r number </dev/ttyS1 && [ "$number" != off ]; do
    scenario "$number" prepare
done
