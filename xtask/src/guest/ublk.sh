# What scenarios of `serve --ublk` share: `. /guest/ublk` in each of their texts. Errors end it.

# Starts a server of the words given, and waits until it serves or ends.
start() {
    rm -f ready
    drivelab serve "$@" --ready-fd 3 3>ready >said 2>&1 &
    SERVER=$!
    echo $SERVER >server
    tries=0
    until [ -s ready ] || ! kill -0 $SERVER 2>/dev/null; do
        sleep 0.1; tries=$((tries + 1)); [ $tries -lt 900 ] || break
    done
    [ -s ready ] || { echo "the server did not get ready:"; cat said; return 1; }
}
# It ends in order.
end() {
    SERVER=$(cat server); kill -TERM $SERVER
    if ! wait $SERVER 2>/dev/null; then until_so gone; fi
    grep '^stopped' said || { cat said; return 1; }
}
gone() { ! kill -0 $SERVER 2>/dev/null; }
# With $STOPPED seconds it is stopped first, so that requests of the disk wait for it.
killed() {
    [ -z "${STOPPED:-}" ] || { kill -STOP $SERVER; sleep $STOPPED; }
    kill -KILL $SERVER
    # A kernel that does not survive it keeps the process for ever.
    tries=0
    while [ "$(cut -d' ' -f3 /proc/$SERVER/stat 2>/dev/null || echo Z)" != Z ]; do
        sleep 0.1; tries=$((tries + 1))
        if [ $((tries % 20)) = 0 ] && dmesg | grep -m 3 -E 'BUG:|Oops:|io_fallback_tw'; then
            echo "the kernel did not survive it"; return 1
        fi
        [ $tries -lt 300 ] ||
            { echo "the killed server stays:"; cat /proc/$SERVER/stack; return 1; }
    done
    wait $SERVER 2>/dev/null
    ! dmesg | grep -m 3 -E 'BUG:|Oops:|io_fallback_tw'
}
nothing_left() { ! ls /dev/ublkb* /dev/ublkc* 2>/dev/null; }
nothing_left_but_control() { ! ls /dev/ublkb* 2>/dev/null; }
no_errors() { ! dmesg | grep -E 'I/O error|EXT4-fs (error|warning)|blocked for more'; }
fio_verifies() { # block size, depth, size; more words
    bs=$1 depth=$2 size=$3; shift 3
    fio --name=v --filename=/dev/ublkb0 --direct=1 --ioengine=io_uring --rw=randwrite --bs="$bs" \
        --iodepth="$depth" --size="$size" --verify=crc32c --verify_fatal=1 --do_verify=1 \
        --output=fio.txt "$@" >/dev/null 2>&1 || { tail -20 fio.txt; return 1; }
}
# fio verifies what it wrote, at a depth, while its server is killed and started anew.
killed_under_fio() { # depth, kills, words of the server
    depth=$1 wanted=$2; shift 2
    start "$@" || return 1
    fio --name=k --filename=/dev/ublkb0 --direct=1 --ioengine=io_uring --iodepth=$depth \
        --size=24m --rw=randwrite --bsrange=${RANGE:-4k-256k} --verify=crc32c --verify_fatal=1 \
        --do_verify=1 --loops=1000 --time_based --runtime=600 --fsync=32 --output=fio.txt \
        >/dev/null 2>&1 &
    FIO=$!
    kills=0
    while [ $kills -lt $wanted ]; do
        sleep 1.$((kills * 7 % 10))
        kill -0 $FIO || { echo "fio has ended after $kills kills:"; tail -20 fio.txt; return 1; }
        killed || { echo "at kill $((kills + 1))"; return 1; }
        kills=$((kills + 1)); sleep 0.$((kills % 4))
        start "$@" || return 1
        grep -q "taken up again" said || { echo "it is not taken up again:"; cat said; return 1; }
    done
    kill -INT $FIO; wait $FIO
    grep -E 'err=' fio.txt
    grep -q 'err= 0' fio.txt || { cat fio.txt; return 1; }
    echo "$kills kills"
}
