#!/bin/busybox sh
# The guest's first process: loads modules, finds the drives by their serial numbers, and runs what
# it was given. MODULES and COUNT stand in /guest/settings.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
/bin/busybox mkdir -p /bin /sbin /proc /sys /dev /run /tmp /root /mnt /var/lib /var/tmp
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
mkdir -p /dev/pts /dev/shm /run/lock /run/lvm
mount -t devpts none /dev/pts; mount -t tmpfs none /dev/shm
mount -t tmpfs -o size=1g none /tmp; mount -t tmpfs none /run; mkdir -p /run/lock
mount -t debugfs none /sys/kernel/debug
ln -sf /proc/mounts /etc/mtab; ln -sf /proc/self/fd /dev/fd
ifconfig lo 127.0.0.1
. /guest/settings
modprobe -a -q $MODULES
stty -F /dev/ttyS1 raw -echo
exec </dev/null >/dev/ttyS1 2>&1
tries=0
until /guest/drives >/guest/names || [ $tries -gt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
sed 's/^export /@@ drive /' /guest/names
# Of the kernel's complaints only those that stop something.
dmesg -n 2
bash /guest/run
sync
echo "@@ off"
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
