# Sets $MIB MiB of the flash drive M1 before 1032 MiB of the disk M0 as the cache $KIND, reads or
# writes ($OP) it, and prints each cell's rate and what the kernel counted.
modprobe -a dm-mod dm-cache dm-cache-smq dm-writecache bcache
part() { # name, drive, first MiB, MiB
    dmsetup create "$1" --table "0 $(($4 * 2048)) linear $2 $(($3 * 2048))" || exit 1
}
part disk "$M0" 0 1032
part flash "$M1" 0 "$MIB"
case $KIND in
dm-cache)
    part map "$M1" 64 16
    dmsetup mknodes
    dd if=/dev/zero of=/dev/mapper/map bs=4096 count=1 oflag=direct status=none
    dmsetup create cached --table "0 $((1032 * 2048)) cache /dev/mapper/map /dev/mapper/flash \
        /dev/mapper/disk 128 1 writethrough smq 0" || exit 1
    dmsetup mknodes
    device=/dev/mapper/cached
    counted() {
        set -- $(dmsetup status cached) && echo "hits $8 misses $9"
        echo "also: ${13} promotions, ${12} demotions"
    } ;;
dm-writecache)
    dmsetup mknodes
    dd if=/dev/zero of=/dev/mapper/flash bs=4096 count=1 oflag=direct status=none
    # Its commits by time, one a second, and its pause after a write that found no room, three
    # seconds, in the drives' time; the kernel takes no pause above a minute.
    pause=$((3000 * SLOWER))
    [ "$pause" -le 60000 ] || pause=60000
    dmsetup create cached --table "0 $((1032 * 2048)) writecache s /dev/mapper/disk \
        /dev/mapper/flash 4096 4 autocommit_time $((1000 * SLOWER)) \
        pause_writeback $pause" || exit 1
    dmsetup mknodes
    device=/dev/mapper/cached
    # Writes that found their block there, and those that took a new one or went by.
    counted() {
        set -- $(dmsetup status cached) && shift 10 && echo "hits $(($1 + $2)) misses $(($3 + $4))"
        echo "also: $3 writes went by, $4 took a new place, $5 waited for one"
    } ;;
bcache)
    dmsetup mknodes
    type make-bcache >/dev/null || { echo "the host needs make-bcache: bcache-tools"; exit 1; }
    make-bcache --bdev /dev/mapper/disk --cache /dev/mapper/flash --bucket 64k --wipe-bcache \
        >/dev/null || exit 1
    for name in disk flash; do echo "/dev/mapper/$name" >/sys/fs/bcache/register || exit 1; done
    until_so test -e /sys/block/bcache0/bcache/cache || exit 1
    device=/dev/bcache0
    counted() {
        cd /sys/block/bcache0/bcache/stats_total || exit 1
        echo "hits $(cat cache_hits) misses $(cat cache_misses)"
    } ;;
esac
consent=--reads-only
[ "$OP" = read ] || consent="--destroy cached"
drivelab run "$device" $consent --slower "$SLOWER" --method /guest/caches.toml --seed 1 \
    --quiet --yes --json run.json || exit 1
drivelab export run.json --as csv
counted
set -- $(cat "/sys/block/${M0##*/}/stat")
echo "also: the disk, $1 reads, $5 writes, ${16} flushes"
