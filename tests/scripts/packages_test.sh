#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs a finished build, and runs the program from what is in the packages.
#   packages_test.sh SOURCE_DIR BUILD_DIR
# scripts/try-packages.sh installs packages in fresh systems, which wants root and a network.
set -euo pipefail
source_dir=$1
build_dir=$2
work=$build_dir/packages_test
for tool in dpkg-deb dpkg-shlibdeps file cpack; do
  if ! command -v "$tool" > /dev/null; then
    echo "packages SKIPPED: there is no $tool"
    exit 77
  fi
done

fail() {
  echo "packages: $1" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work/deb" "$work/cwd"
(cd "$build_dir" && cpack -G DEB -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -D CPACK_COMPONENTS_ALL=program) > "$work/log" 2>&1 \
  || { cat "$work/log" >&2; fail "cpack made no Debian package"; }
(cd "$build_dir" && cpack -G TGZ -B "$work") > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "cpack made no tarball"; }

# The Debian package: what it depends on, and what is in it.
deb=$(echo "$work"/lanescope_*.deb)
depends=$(dpkg-deb --field "$deb" Depends)
echo "Depends: $depends"
for library in libc6 libstdc++6 libsqlite3-0 libopenblas0; do
  [[ $depends == *"$library"* ]] || fail "the package does not depend on $library"
done
# Its name has a version that differs between the releases the package is for.
[[ $depends != *libfmt* ]] || fail "the package depends on a libfmt, which releases have different ones of"
[[ $depends != *libsimdjson* ]] || fail "the package depends on a libsimdjson, which releases have different ones of"
[[ $depends != *-dev* && $depends != *gcc-[0-9]* && $depends != *g++* ]] || fail "the package wants a compiler"
dpkg-deb --extract "$deb" "$work/deb"
for path in share/man/man1/lanescope.1.gz share/man/man1/lanescope-run.1.gz share/doc/lanescope/copyright \
  share/bash-completion/completions/lanescope share/fish/vendor_completions.d/lanescope.fish \
  share/lanescope/samples/graphs/polynomial.pbtxt; do
  [[ -s $work/deb/usr/$path ]] || fail "the package lacks $path"
done
[[ ! -e $work/deb/usr/include ]] || fail "headers are in the program's package"

# The tarball: unpacked anywhere, with nothing in the environment, the program runs with the libraries beside it.
tarball=$(echo "$work"/lanescope-*.tar.gz)
tar -xzf "$tarball" -C "$work"
prefix=${tarball%.tar.gz}
polynomial=$prefix/share/lanescope/samples/graphs/polynomial.pbtxt
for program in "$work/deb/usr/bin/lanescope" "$prefix/bin/lanescope"; do
  cd "$work/cwd"
  env -i "$program" --version
  env -i "$program" run "$polynomial" --steps 2
done
for library in libprotobuf libsqlite3 libopenblas libgfortran; do
  compgen -G "$prefix/lib*/lanescope/$library.so*" > /dev/null || fail "the tarball lacks $library"
done
foreign=$(env -i /usr/bin/ldd "$prefix/bin/lanescope" | awk '$2 == "=>" {print $1, $3}' \
  | grep -vE '^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s)\.so' | grep -v " $prefix/" || true)
[[ -z $foreign ]] || fail "the tarball's program takes from outside: $foreign"
echo "packages: $(basename "$deb") and $(basename "$tarball") hold what they need"
