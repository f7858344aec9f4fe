#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a release from a tag: source archive, Debian packages, tarball, wheel and container recipe, all built from the archive
# alone, and their checksums, into build/dist/TAG. Wants pip; what was there before stays until all is made.
#   scripts/release.sh TAG                e.g. v0.2.0
#   scripts/release.sh --try FOLDER TAG   installs and uses each in fresh systems below FOLDER, too; wants root, debootstrap
#                                         and a mirror of Debian
# LANESCOPE_RELEASE_OPTIONS: further options of CMake, e.g. -DLANESCOPE_CUDA=OFF
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/fresh_system.sh
. scripts/fresh_system.sh

usage() {
  sed -n '3,8s/^# //p' "$0"
  exit 2
}

try=''
if [[ ${1:-} == --try && $# == 3 ]]; then
  require_debootstrap
  try=$(mkdir -p "$2" && cd "$2" && pwd)
  shift 2
fi
[[ $# == 1 && $1 != -* ]] || usage
tag=$1
version=${tag#v}
[[ $tag == v* && $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "a tag is v and three numbers, such as v0.2.0; this is '$tag'"
commit=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}") || fail "there is no tag $tag"
in_tag() {  # in_tag FILE: as it was at the tag
  git show "$commit:$1"
}
grep -q "^project(lanescope VERSION $version " <(in_tag CMakeLists.txt) || fail "CMakeLists.txt of $tag names another version"
grep -Eq "^## $version, [0-9]+ [A-Z][a-z]+ [0-9]{4}$" <(in_tag NEWS.md) || fail "NEWS.md of $tag has no heading '## $version, DAY MONTH YEAR'"
python3 -m pip --version > /dev/null 2>&1 || fail "python3 has no pip; install python3-pip"

dist=$PWD/build/dist
out=$dist/.$tag  # becomes $dist/$tag once it is whole
rm -rf "$out"
mkdir -p "$out"
name=lanescope-$version
git archive --format=tar --prefix="$name/" "$commit" | gzip --no-name -9 > "$out/$name.tar.gz"
tar -xzf "$out/$name.tar.gz" -C "$out"
source=$out/$name

# shellcheck disable=SC2086
(cd "$source" && ./scripts/package.sh ${LANESCOPE_RELEASE_OPTIONS:-})
find "$source/build/package/packages" -maxdepth 1 -type f -exec cp -t "$out" {} +  # CPack leaves a folder of its own there
pip_options=()
for option in ${LANESCOPE_RELEASE_OPTIONS:-}; do pip_options+=("--config-settings=cmake.define.${option#-D}"); done
python3 -m pip wheel --quiet --no-deps --wheel-dir "$out" "${pip_options[@]}" "$source"
cp "$source/Containerfile" "$out"

if [[ -n $try ]]; then
  (cd "$source" && ./scripts/try-packages.sh "$try")
  (cd "$source" && ./scripts/try-wheel.sh "$try" "$out"/*.whl)
  (cd "$source" && ./scripts/try-container.sh "$try")
fi
rm -rf "$source"
(cd "$out" && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
rm -rf "${dist:?}/$tag"
mv "$out" "$dist/$tag"
