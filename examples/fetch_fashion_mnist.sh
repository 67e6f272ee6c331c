#!/usr/bin/env bash
# Puts the four files of Fashion-MNIST into target/fashion-mnist, from Debian's package of them (31 MB). Needs no root:
# apt-get only downloads the package, and dpkg-deb unpacks it here.
set -euo pipefail
cd "$(dirname "$0")/.."

package=dataset-fashion-mnist
place=target/fashion-mnist
files=({train,t10k}-{images-idx3,labels-idx1}-ubyte.gz)

fail() {
    echo "fetch_fashion_mnist: $1" >&2
    echo "Or put these files, as Fashion-MNIST publishes them, into $place yourself:" >&2
    printf '  %s\n' "${files[@]}" >&2
    exit 1
}

whole() {
    local file
    for file in "${files[@]}"; do
        gzip --test "$place/$file" 2>/dev/null || return 1
    done
}

if whole; then
    echo "$place is there already"
    exit
fi
for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null || fail "$tool is missing, which Debian and its relatives have"
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# As root, apt-get would download as another user, who may not write here.
(cd "$work" && apt-get -o APT::Sandbox::User="$(id -un)" download "$package") ||
    fail "apt-get cannot download $package, for the reason above; it needs the network, and package lists (\`apt-get update\`)"
dpkg-deb -x "$work/$package"_*.deb "$work/unpacked" || fail "dpkg-deb cannot unpack $package; is the disk full?"
mkdir -p "$place"
cp "$work/unpacked/usr/share/datasets/fashion-mnist/"*.gz "$place/"
whole || fail "$package does not hold the files that are expected; it may have changed"
echo "Fashion-MNIST is in $place"
