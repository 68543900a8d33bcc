#!/usr/bin/env bash
# Fetches the program of the release that the action was called by, and holds it against its sum.
#   fetch.sh PLACE     REPOSITORY=owner/name RELEASE=v1.2.3
set -euo pipefail
place=$(realpath -m -- "${1:?where to put it}")
: "${REPOSITORY:?the repository of the action}" "${RELEASE:?a release of it, such as v1.2.3}"
from=${RELEASES:-https://github.com/$REPOSITORY/releases/download}/$RELEASE
name=drivelab-${RELEASE#v}-x86_64-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for file in "$name" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --output "$file" "$from/$file" || {
        echo "drivelab: $RELEASE is no release with $file: call the action by one, as in" \
            "\`uses: $REPOSITORY@v1.2.3\`, or give it \`program:\`" >&2
        exit 2
    }
done
grep "  $name\$" SHA256SUMS | sha256sum --check --quiet --strict
install -m 755 "$name" "$place"
