# Makes the array of level $LEVEL of the drives M0 to M3 and measures it; prints each cell's rate.
modprobe -a raid0 raid1 raid10 raid456
# As Linux treats a SATA drive that takes DEPTH commands at once.
for member in "$M0" "$M1" "$M2" "$M3"; do
    disk=/sys/block/${member##*/}
    echo "$DEPTH" >"$disk/device/queue_depth" && echo mq-deadline >"$disk/queue/scheduler" || exit 1
done
first=$M0
[ "$STATE" = whole ] || first=missing
# What is served is empty: nothing has to be synced first.
mdadm --quiet --create /dev/md0 --name=bench --homehost=lab --run --assume-clean \
    --level="$LEVEL" --raid-devices=4 $MORE "$first" "$M1" "$M2" "$M3" || exit 1
# Only RAID-5 and 6 have one.
if [ -n "$STRIPES" ] && [ -e /sys/block/md0/md/stripe_cache_size ]; then
    echo "$STRIPES" >/sys/block/md0/md/stripe_cache_size || exit 1
fi
if [ "$STATE" = rebuild ]; then
    # md's own pace while somebody asks, 1,000 KiB a second, in the drives' time. It is set for an
    # array at rest as well: md tells by the sectors since it last looked, 64 of them, and takes a
    # slowed thread, who gets fewer, for nobody.
    for limit in sync_speed_min sync_speed_max; do
        echo $((1000 / SLOWER)) >/sys/block/md0/md/$limit || exit 1
    done
    mdadm --quiet --add /dev/md0 "$M0" || exit 1
fi
drivelab run /dev/md0 --destroy bench --method /guest/arrays.toml --quiet --yes \
    --json run.json || exit 1
drivelab export run.json --as csv
if [ "$STATE" = rebuild ]; then
    echo "rebuild: $(cat /sys/block/md0/md/sync_action), done $(cat /sys/block/md0/md/sync_completed)"
fi
