#!/bin/sh
# Prints `export NAME=/dev/...` for each drive, and fails where fewer than COUNT are there yet.
. /guest/settings
found=0
name() { echo "export $1=/dev/$2"; found=$((found + 1)); }
for disk in /sys/block/nvme* /sys/block/vd* /sys/block/sd*; do
    [ -e "$disk" ] || continue
    device=${disk##*/}
    case $device in
    nvme*) serial=$(cat "$disk/device/serial") ;;
    vd*) serial=$(cat "$disk/serial") ;;
    sd*) serial=$(tr -cd 'A-Z0-9_-' <"$disk/device/vpd_pg80") ;;
    esac 2>/dev/null
    serial=$(echo $serial)
    case $serial in
    # Two name spaces of one drive.
    SPACES) name SPACE${device##*n} "$device" ;;
    # Two paths to one drive.
    PATHS) case $(echo "$disk"/device/scsi_device/*) in
        *:1:0) name PATH_A "$device" ;; *) name PATH_B "$device" ;; esac ;;
    ?*) name "$serial" "$device" ;;
    *) grep -q QEMU "$disk/device/vendor" 2>/dev/null && name USB "$device" ;;
    esac
done
[ $found -ge "$COUNT" ]
