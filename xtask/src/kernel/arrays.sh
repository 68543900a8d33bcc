# Makes the array of level $LEVEL of the drives M0 to M3 and measures it; prints each cell's rate.
modprobe -a raid0 raid1 raid10 raid456
# As Linux treats a SATA drive that takes DEPTH commands at once.
for member in "$M0" "$M1" "$M2" "$M3"; do
    disk=/sys/block/${member##*/}
    echo "$DEPTH" >"$disk/device/queue_depth" && echo mq-deadline >"$disk/queue/scheduler" || exit 1
done
# What is served is empty: nothing has to be synced first.
mdadm --quiet --create /dev/md0 --name=bench --homehost=lab --run --assume-clean \
    --level="$LEVEL" --raid-devices=4 $MORE "$M0" "$M1" "$M2" "$M3" || exit 1
drivelab run /dev/md0 --destroy bench --method /guest/arrays.toml --quiet --yes \
    --json run.json || exit 1
drivelab export run.json --as csv
