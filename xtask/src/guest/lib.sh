# What a scenario's commands can use. There is no udev: nothing is below /dev/disk.
export DM_DISABLE_UDEV=1 XDG_DATA_HOME=/tmp/scenario/data XDG_STATE_HOME=/tmp/scenario/state

# A short method on a small part of the drive: one cell that reads, one that writes.
SHORT="--method /guest/short.toml --size 8M --quiet"
# Its cell that reads alone.
READS="--method /guest/reads.toml --size 8M --quiet"

# Nothing is on the drive, and the kernel has forgotten its partitions. Where it takes TRIM, what is
# trimmed reads as zeroes here: QEMU makes holes in the drive's file.
blank() {
    [ -b "$1" ] || return 0
    blkdiscard -f "$1" 2>/dev/null || blkdiscard -f -z "$1" 2>/dev/null ||
        wipefs -q -a -f "$1" 2>/dev/null
    blockdev --rereadpt "$1" 2>/dev/null
    return 0
}
# What a drive bears at its two ends.
ends() {
    dd if="$1" bs=1M count=4 iflag=direct status=none 2>/dev/null
    dd if="$1" bs=1M count=2 iflag=direct status=none \
        skip=$(($(blockdev --getsize64 "$1") / 1048576 - 2)) 2>/dev/null
}
remember() { sync; ends "$1" | md5sum >"/run/ends-${1##*/}"; }
# Whether it still bears what it bore when the scenario was prepared.
unchanged() {
    [ "$(ends "$1" | md5sum)" = "$(cat "/run/ends-${1##*/}")" ] ||
        { echo "$1 was changed"; return 1; }
}
changed() { ! unchanged "$1" >/dev/null || { echo "$1 was not written"; return 1; }; }
# Waits until a command succeeds, a minute at most.
until_so() {
    until_end=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        sleep 0.1
        [ $SECONDS -lt $until_end ] || { echo "waited in vain: $*"; return 1; }
    done
}
# Waits until a drive, by its kernel name, has answered so many requests more, a minute at most.
busy() { # name, requests
    answered() { awk '{ print $1 + $5 }' "/sys/block/$1/stat"; }
    busy_from=$(answered "$1"); tries=0
    while [ $(($(answered "$1") - busy_from)) -lt "$2" ] && [ $tries -lt 600 ]; do
        sleep 0.1; tries=$((tries + 1))
    done
}
sectors() { blockdev --getsz "$1"; }
# The newest record of the scenario's store has a text.
recorded() {
    drivelab show last --json | grep -q -- "$1" || { echo "the record has no $1"; return 1; }
}
partition() { # drive, number
    case $1 in *[0-9]) echo "$1p$2" ;; *) echo "$1$2" ;; esac
}
# The power goes off, here and now; the scenario goes on with `again` in the next boot.
power_off() {
    { sed 's/^/| /' /run/said; echo "@@ cut"; } >/dev/ttyS1
    sleep 1000
}
# The node of a drive's NVMe controller.
controller() { echo "/dev/$(basename "$(readlink -f "/sys/block/${1##*/}/device")")"; }
# What the drive's own write cache is, as the drive says: on or off.
cache() {
    case $1 in
    *nvme*) nvme get-feature "$(controller "$1")" -f 6 | grep -q 'value: *0x0*1' && echo on || echo off ;;
    *sd*) sdparm --quiet --get=WCE "$1" | grep -q '^WCE *1' && echo on || echo off ;;
    *vd*) grep -q back "/sys/block/${1##*/}/cache_type" && echo on || echo off ;;
    esac
}
cache_is() { [ "$(cache "$1")" = "$2" ] || { echo "the write cache of $1 is not $2"; return 1; }; }
matrix() { # drive, serial, more words
    drive=$1; serial=$2; shift 2
    drivelab matrix "$drive" --destroy "$serial" --size 8M --quiet "$@"
}
# Four matrices, each in the middle of a turn: its write cache off, its ext4 mounted. One begins after
# the other: together they starved each other's tools of processor time.
four_matrices() {
    MATRICES= wanted=0
    for serial in NVME SATA SCSI VIRTIO; do
        eval "path=\$$serial"
        drivelab matrix $path --destroy $serial --fs ext4 --write-cache off --passes 1 --size 8M \
            --quiet --yes --method /guest/short.toml --set bound=time --max-time 600s &
        MATRICES="$MATRICES $!" wanted=$((wanted + 1))
        # It takes its time; one that ends is not waited for.
        while kill -0 $! 2>/dev/null && ! mounted_matrices $wanted; do sleep 0.2; done
    done
    for path in $NVME $SATA $SCSI $VIRTIO; do cache_is $path off; done
}
mounted_matrices() { [ "$(grep -c /drivelab-matrix- /proc/mounts)" = "$1" ]; }
# Looks at a drive's cache by tools, again and again, until `observed`.
observe() { while sleep 0.2; do cache $1; done >seen & OBSERVER=$!; }
observed() {
    kill $OBSERVER
    for state in on off; do grep -q $state seen || echo "the write cache was never $state"; done
}
# Runs a command on a terminal of 80 columns and 24 lines. All that comes is in `typescript` at once;
# afterwards it says what stays on the screen, and tells of lines that do not fit.
on_screen() {
    SHELL=$(command -v bash) script -qefc "stty cols 80 rows 24; export TERM=linux NO_COLOR=1; $1" /dev/null \
        </dev/null >typescript
    screen_code=$?
    sed 's/\x1b\[[0-9;?]*[A-Za-z]//g; s/\r*$//; s/.*\r//' typescript >screen
    cat screen
    awk 'length > 80 { print "too wide: " $0 }' screen
    echo "$(wc -l <screen) lines"
    return $screen_code
}
