# Fetches the kernel package of a Debian release and unpacks it. Installs nothing, and leaves this
# machine's package lists alone. $1: the release; $2: an empty directory for it.
set -eu
SOURCES=/etc/apt/sources.list.d/debian.sources
[ -e $SOURCES ] || { echo "no $SOURCES, which names a mirror of Debian" >&2; exit 1; }
cd "$2"
mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial
awk 'BEGIN { RS = "" } NR == 1' $SOURCES | sed "s/^Suites:.*/Suites: $1/" >apt/parts/of.sources
apt() {
    program=$1; shift
    "$program" -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD/apt/parts" \
        -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache" \
        -o APT::Sandbox::User=root "$@"
}
apt apt-get update -qq
package=$(apt apt-cache depends linux-image-amd64 |
    awk '/Depends: linux-image-/ { print $2; exit }')
apt apt-get download -qq "$package"
dpkg -x linux-image-*.deb .
rm -r apt linux-image-*.deb
[ -d lib/modules ] || ln -s usr/lib lib
depmod -b . "${package#linux-image-}"
