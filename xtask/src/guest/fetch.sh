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
        -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
        -o Acquire::https::Timeout=20 "$@"
}
apt apt-get update -qq || :
package=$(apt apt-cache depends linux-image-amd64 |
    awk '/Depends: linux-image-/ { print $2; exit }')
[ -n "$package" ] ||
    { echo "the mirror that $SOURCES names did not give its list of Debian $1" >&2; exit 1; }
apt apt-get download -qq "$package"
dpkg -x linux-image-*.deb .
rm -r apt linux-image-*.deb
[ -d lib/modules ] || ln -s usr/lib lib
depmod -b . "${package#linux-image-}"
