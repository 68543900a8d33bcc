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
if [ "$STATE" = rebuild ]; then
    # md's own pace, in the drives' time: 1,000 and 200,000 KiB a second.
    echo $((1000 / SLOWER)) >/sys/block/md0/md/sync_speed_min || exit 1
    echo $((200000 / SLOWER)) >/sys/block/md0/md/sync_speed_max || exit 1
    mdadm --quiet --add /dev/md0 "$M0" || exit 1
fi
drivelab run /dev/md0 --destroy bench --method /guest/arrays.toml --quiet --yes \
    --json run.json || exit 1
drivelab export run.json --as csv
if [ "$STATE" = rebuild ]; then
    echo "rebuild: $(cat /sys/block/md0/md/sync_action), done $(cat /sys/block/md0/md/sync_completed)"
fi
