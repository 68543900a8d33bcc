# `drivelab serve --ublk` in a guest with the kernel's driver: prints a line for each thing that
# holds, and ends with 1 if any does not. $1: the program; $2: a directory on a drive of 1.5 GiB.
set -u
PROGRAM=$1
cd "$2" || exit 1
WRONG=0
export XDG_STATE_HOME=$PWD/state

say() { printf '%s\n' "$*"; }
ok() { say "ok      $*"; }
wrong() { say "WRONG   $*"; WRONG=1; }
check() { local what=$1; shift; if "$@"; then ok "$what"; else wrong "$what"; fi; }

# Starts a server of the words given, and waits until it serves or ends.
start() {
    rm -f ready
    "$PROGRAM" serve "$@" --ready-fd 3 3>ready >said 2>&1 &
    SERVER=$!
    local tries=0
    until [ -s ready ] || ! kill -0 $SERVER 2>/dev/null; do
        sleep 0.1; tries=$((tries + 1)); [ $tries -lt 900 ] || break
    done
    if [ -s ready ]; then return 0; fi
    say "the server did not get ready:"; cat said; return 1
}
end() { kill -TERM $SERVER; wait $SERVER; local code=$?; [ $code = 0 ] || cat said; return $code; }
# A kernel that does not survive it (docs/ublk.md) would keep us waiting for ever.
killed() {
    kill -KILL $SERVER
    local tries=0
    while kill -0 $SERVER 2>/dev/null && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
    if dmesg | grep -m 3 -E 'BUG:|Oops:|io_fallback_tw'; then
        wrong "the kernel survives a killed server"; exit 1
    fi
    wait $SERVER 2>/dev/null
}
nothing_left() { ! ls /dev/ublkb* /dev/ublkc* >/dev/null 2>&1; }
# What a command that must fail says contains a text.
refused() {
    local text=$1; shift
    if "$@" >refusal 2>&1; then say "it was not refused"; return 1; fi
    grep -q -- "$text" refusal || { cat refusal; return 1; }
}
kernel_is_content() {
    ! dmesg | grep -E 'I/O error|EXT4-fs (error|warning)|blocked for more|BUG:|WARNING:'
}
fsck_finds_nothing() { e2fsck -f -n /dev/ublkb0 >fsck.txt 2>&1 || { cat fsck.txt; return 1; }; }
device_wait() { local tries=0; while [ "$1" != "$(ls /dev/ublkb* 2>/dev/null | wc -l)" ]; do
    sleep 0.1; tries=$((tries + 1)); [ $tries -lt 300 ] || return 1; done; }
healthy() { "$PROGRAM" flash check vol.img >checked 2>&1 || { cat checked; return 1; }; }
fio_verifies() { # block size, depth, size; more words
    local bs=$1 depth=$2 size=$3; shift 3
    fio --name=v --filename=/dev/ublkb0 --direct=1 --ioengine=io_uring --rw=randwrite --bs="$bs" \
        --iodepth="$depth" --size="$size" --verify=crc32c --verify_fatal=1 --do_verify=1 \
        --output=fio.txt "$@" >/dev/null 2>&1 || { tail -20 fio.txt; return 1; }
}

check "without the driver the cure is named" refused "modprobe ublk_drv" \
    "$PROGRAM" serve memory:16M --ublk
dmesg -C
modprobe ublk_drv || { wrong "the driver loads"; exit 1; }
chmod 666 /dev/ublk-control
check "without the right the cure is named" refused "CAP_SYS_ADMIN" \
    setpriv --reuid 65534 --regid 65534 --clear-groups "$PROGRAM" serve memory:16M --ublk
chmod 600 /dev/ublk-control

# Files of all sizes from 0 to 300 KB, 12 MB in all.
mkdir files; for n in $(seq 0 79); do head -c $((n * n * 47)) /dev/urandom >files/$n; done

"$PROGRAM" flash create vol.img --drive-size 700M >/dev/null || wrong "a volume is made"
truncate -s 400M disk.img
VOLUME="flash:vol.img --ublk --restartable"
FILE="disk.img --destroy disk.img --ublk --restartable"

for words in "$VOLUME" "$FILE"; do
    say "-- $words"
    start $words || { wrong "it serves"; continue; }
    say "        $(head -1 said); block $(cat /sys/block/ublkb0/queue/logical_block_size) B," \
        "queue $(cat /sys/block/ublkb0/queue/nr_requests)," \
        "cache $(cat /sys/block/ublkb0/queue/write_cache)"
    for bs in 4k:2m 64k:16m 1m:48m; do for depth in 1 16; do
        check "fio verifies ${bs%:*} at depth $depth" fio_verifies ${bs%:*} $depth ${bs#*:}
    done; done
    check "fio verifies 512 B to 1 MiB, unaligned, with flushes and forced writes" \
        fio_verifies 4k 16 32m --bsrange=512-1m --blockalign=512 --norandommap --io_size=32m \
        --fsync=16 --verify_backlog=64
    check "discards and zeroes" sh -c 'blkdiscard /dev/ublkb0 && blkdiscard -z -l 64M /dev/ublkb0 &&
        cmp -n 64M /dev/ublkb0 /dev/zero'
    check "mkfs.ext4" mkfs.ext4 -q -F /dev/ublkb0
    mkdir -p mnt
    check "mount" mount /dev/ublkb0 mnt
    check "files are copied and are the same" sh -c 'cp -r files mnt/ && sync -f mnt &&
        diff -r files mnt/files'
    check "fstrim" fstrim mnt
    check "unmount" umount mnt
    check "fsck finds nothing" fsck_finds_nothing
    check "it ends in order" end
    check "nothing is left" nothing_left
    say "        $(grep ^stopped said)"
    check "the kernel said nothing" kernel_is_content
done
check "the volume is healthy" healthy

kills_at_depth() { for words in "$VOLUME" "$FILE"; do
    say "-- killed at depth $1: $words"
    start $words || { wrong "it serves"; continue; }
    # fio verifies what it wrote while the server dies under it, again and again.
    fio --name=k --filename=/dev/ublkb0 --direct=1 --ioengine=io_uring --iodepth=$1 --size=24m \
        --rw=randwrite --bsrange=4k-256k --verify=crc32c --verify_fatal=1 --do_verify=1 --loops=1 \
        --fsync=32 --output=fio.txt >/dev/null 2>&1 &
    FIO=$!
    kills=0
    while [ $kills -lt 8 ] && kill -0 $FIO 2>/dev/null; do
        sleep 1.$((kills * 7 % 10)); killed; kills=$((kills + 1)); sleep 0.$((kills % 4))
        start $words || break
        grep -q "taken up again" said || wrong "the disk is taken up again"
    done
    check "fio saw no error and every byte through $kills kills" wait $FIO
    mkfs.ext4 -q -F /dev/ublkb0 && mount /dev/ublkb0 mnt || wrong "mkfs and mount"
    (for n in 1 2 3 4; do cp -r files mnt/$n && sync -f mnt || exit 1; done) &
    COPY=$!
    kills=0
    while [ $kills -lt 6 ] && kill -0 $COPY 2>/dev/null; do
        sleep 0.$((kills * 3 % 10)); killed; kills=$((kills + 1))
        start $words || break
    done
    check "a mounted file system goes on through $kills kills" wait $COPY
    killed; start $words
    check "its files are whole" sh -c 'for n in 1 2 3 4; do diff -r files mnt/$n || exit 1; done'
    umount mnt
    check "fsck finds nothing" fsck_finds_nothing
    check "it ends in order" end
    check "nothing is left" nothing_left
    check "the kernel said nothing" kernel_is_content
done; }
kills_at_depth 1
check "the volume is healthy" healthy

say "-- what is written and not synchronised is on the drive when it ends"
start $VOLUME
mkfs.ext4 -q -F /dev/ublkb0; mount /dev/ublkb0 mnt; cp -r files mnt/
check "a disk that is still mounted goes all the same" end
check "it is said that it was in use" grep -q "mounted or in use" said
umount -l mnt 2>/dev/null; device_wait 0
start $VOLUME; mount /dev/ublkb0 mnt
check "the files are whole" diff -r files mnt/files
umount mnt; end; dmesg -C

say "-- what a killed server leaves"
start $VOLUME; killed; sleep 1
check "whoever does not say --restartable is refused" refused "must say --restartable" \
    "$PROGRAM" serve flash:vol.img --ublk
check "another target does not take its place" refused "killed server of another target" \
    "$PROGRAM" serve disk.img --destroy disk.img --ublk=0 --restartable
check "another number is refused" refused "ublk=0 --restartable" \
    "$PROGRAM" serve flash:vol.img --ublk=5 --restartable
start disk.img --read-only --ublk
check "another target gets another number and says what waits" \
    sh -c 'grep -q /dev/ublkb1 ready && grep -q "/dev/ublkb0 waits" said'
check "a served disk is not removed" refused "is served by process" \
    "$PROGRAM" serve --ublk-remove 1
end
check "what waits is removed when that is asked for" "$PROGRAM" serve --ublk-remove 0
check "nothing is left" nothing_left
check "there is nothing more to remove" refused "no ublk device 0" "$PROGRAM" serve --ublk-remove 0
start flash:vol.img --ublk; killed; device_wait 0
check "without --restartable the disk goes with its server" [ ! -e /dev/ublkb0 ]
start flash:vol.img --ublk
check "and its remains are removed by the next" grep -q "removed what a killed server left" said
end
check "nothing is left" nothing_left
dmesg -C

say "-- read-only, models, memory"
before=$(md5sum <vol.img)
start flash:vol.img --read-only --ublk --restartable
check "a write is refused" refused "" dd if=/dev/zero of=/dev/ublkb0 bs=4k count=1 oflag=direct
check "a read is not" dd if=/dev/ublkb0 of=/dev/null bs=1M count=64 iflag=direct status=none
killed; start flash:vol.img --read-only --ublk --restartable
check "it is taken up again" dd if=/dev/ublkb0 of=/dev/null bs=1M count=8 iflag=direct status=none
check "it ends in order" end
[ "$before" = "$(md5sum <vol.img)" ] && ok "not a byte was written" || wrong "bytes were written"
start model:mtron-pro-32 --ublk
check "a model: fio verifies" fio_verifies 4k 8 2m
check "a model ends in order" end
start model:4xmtron-pro-32/raid5:chunk=64K/flash:spare=28% --ublk
check "a volume on a modelled array: fio verifies" fio_verifies 64k 16 16m
check "it ends in order" end
check "a model is not restartable" refused "leave --restartable out" \
    "$PROGRAM" serve model:mtron-pro-32 --ublk --restartable
start memory:256M --ublk=7
check "the number is as wished" [ -b /dev/ublkb7 ]
end
truncate -s 10000001 odd.img
start odd.img --read-only --ublk
check "what no disk reaches is said" grep -q "a disk does not reach them" said
end
start memory:64M --ublk
kill -STOP $SERVER; sleep 0.3; kill -CONT $SERVER
check "it stands a pause" fio_verifies 4k 4 8m
end
check "nothing is left" nothing_left
check "the kernel said nothing" kernel_is_content
# Last, since there are kernels that do not survive it.
kills_at_depth 16
check "the volume is healthy" healthy
exit $WRONG
