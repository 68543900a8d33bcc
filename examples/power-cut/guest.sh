#!/bin/sh
# A virtual machine whose power is cut with its drive's:
#
#     drivelab power-cut hdd-7200-cmr --fs raw --patience 120s -- examples/power-cut/guest.sh
#
# It boots a Debian kernel on this machine's own files, read-only under an overlay in its memory,
# makes a file system on the drive, and runs a built-in case of drivelab there, whose lines come
# through a serial port. For the check it boots again. Change the last lines for a program of yours.
#
# Debian: apt install qemu-system-x86 busybox-static cpio kmod e2fsprogs (linux-image-amd64)
#
#   CASE       sqlite, postgresql, files           SET       settings of it, `synchronous=off ...`
#   FS         ext4, xfs, btrfs                    MOUNT     options of mount, `barrier=0`
#   LINUX      where boot/vmlinuz-* and lib/modules are: / or an unpacked package
#   MEMORY     MiB of the guest                    ACCEL     kvm, tcg
set -eu
phase=$1 uri=$2
: "${CASE:=sqlite}" "${SET:=}" "${FS:=ext4}" "${MOUNT:=}" "${LINUX:=/}" "${MEMORY:=1024}"
[ -n "${ACCEL:-}" ] || { [ -w /dev/kvm ] && ACCEL=kvm || ACCEL=tcg; }
[ "$ACCEL" = kvm ] && cpu=host || cpu=max,la57=off
fail() { echo "guest.sh: $*" >&2; exit 1; }
drivelab=$(command -v drivelab) || fail "drivelab is not in PATH"
for program in qemu-system-x86_64 busybox cpio modprobe "mkfs.$FS"; do
    command -v "$program" >/dev/null || fail "$program is missing: see the top of this file"
done
kernel=$(ls "$LINUX"/boot/vmlinuz-* 2>/dev/null | tail -n 1)
[ -n "$kernel" ] || fail "no kernel in $LINUX/boot: install linux-image-amd64, or set LINUX"
version=${kernel##*/vmlinuz-}

# The first files of the guest: a shell, the modules, what to do.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root" "$work/root/bin" "$work/root/modules"
cp "$(command -v busybox)" "$work/root/bin/"
n=100
for module in virtio_pci virtio_blk 9pnet_virtio 9p overlay "$FS" crc32c_generic; do
    modprobe -d "$LINUX" -S "$version" --show-depends "$module" 2>/dev/null || :
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/list"
while read -r file; do
    n=$((n + 1))
    case $file in
    *.xz) xz -dc "$file" ;;
    *.zst) zstd -dc "$file" ;;
    *) cat "$file" ;;
    esac >"$work/root/modules/$n.ko"
done <"$work/list"
settings=
for setting in $SET; do settings="$settings --set $setting"; done
options=
[ -z "$MOUNT" ] || options="-o $MOUNT"
cat >"$work/root/init" <<END
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /proc /sys /dev /host /over /new
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
for module in /modules/*; do insmod \$module 2>/dev/null; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro root /host
mount -t tmpfs none /over; mkdir /over/upper /over/work
mount -t overlay -o lowerdir=/host,upperdir=/over/upper,workdir=/over/work none /new
for of in proc sys dev; do mount --rbind /\$of /new/\$of; done
for of in tmp run; do mount -t tmpfs none /new/\$of; done
chmod 1777 /new/tmp; mkdir -p /new/dev/shm /new/run/drive
mount -t tmpfs none /new/dev/shm
stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1 2>/dev/console
cat >/new/run/phase <<'PHASE'
[ $phase = check ] || mkfs.$FS -q /dev/vda || exit 1
mount $options -t $FS /dev/vda /run/drive || { echo "broken it cannot be mounted"; exit 0; }
# In the check the promises come through the port, up to a line of its own.
[ $phase = run ] || echo listening
[ $phase = run ] || while read -r id && [ "\$id" != end ]; do echo "\$id"; done >/run/promised
[ $phase = run ] || exec $drivelab power-cut-case $CASE$settings check /run/drive </run/promised
exec $drivelab power-cut-case $CASE$settings run /run/drive </dev/null
PHASE
chroot /new sh /run/phase || echo "broken the program in the guest failed"
echo over
poweroff -f
END
chmod +x "$work/root/init"
(cd "$work/root" && find . | cpio --quiet -o -H newc) >"$work/initrd"

# QEMU gets the files as descriptors: they can go before it starts, and nothing is left of a guest
# that is killed. What it is told goes through a pipe that has no end: one would close the port.
mkfifo "$work/told"
exec 3<>"$work/told" 4<&0 5<"$work/initrd"
rm -rf "$work"
qemu-system-x86_64 -accel "$ACCEL" -cpu "$cpu" -M q35 -m "$MEMORY" -smp 2 \
    -nodefaults -display none -no-reboot -kernel "$kernel" -initrd /dev/fd/5 \
    -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=1" \
    -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
    -drive "if=none,id=drive,file=$uri,format=raw,cache.direct=on,discard=unmap" \
    -device virtio-blk-pci,drive=drive -serial file:/dev/stderr -serial stdio <&3 |
    while read -r line; do
        line=${line%"$(printf '\r')"}
        case $line in
        over) break ;;
        # Before that the port would have dropped it.
        listening) cat <&4 >&3; echo end >&3 ;;
        *) echo "$line" ;;
        esac
    done
