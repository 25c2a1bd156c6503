#!/bin/sh
# Takes a bare Debian 12 to a running prequel: packages, build, then what was asked for.
set -eu

usage() {
  cat >&2 <<'END'
usage: sh cmake/setup.sh run [ARGUMENT…]   build, then run prequel with these arguments
       sh cmake/setup.sh test [PRESET [CTEST-ARGUMENT…]]
                                           build, then run every test
                                           (PRESET: release, debug or tsan; default release) or
                                           those that the arguments for ctest choose
       sh cmake/setup.sh web               build the page: build/web/index.html
       sh cmake/setup.sh docs              build the documentation with search: build/docs/index.html
       sh cmake/setup.sh dist              build what can be taken away, in build/dist: a program that
                                           runs on any x86-64 Linux, a wheel, a Debian package, the page
END
  exit 2
}

build_packages='cmake ninja-build g++ libboost-dev libeigen3-dev nlohmann-json3-dev libcli11-dev
  libfmt-dev libtbb-dev libyaml-cpp-dev libtomlplusplus-dev doctest-dev libbenchmark-dev'
docs_packages='mkdocs mkdocs-material'  # what turns docs/ into HTML
test_packages="$build_packages $docs_packages clang-format-14 libopenblas-dev libopenmpi-dev openmpi-bin
  python3-jsonschema python3-dev pybind11-dev python3-setuptools python3-wheel python3-pytest mypy
  python3-nbclient python3-ipykernel python3-distributed"

# Installs those of the packages $@ that are missing. dpkg-query is asked first: that takes
# milliseconds, and a machine that has everything needs no network and no root.
install_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian system; going on without installing: $*" >&2
    return
  fi
  missing=
  for package in "$@"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0

  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null 2>&1; then
      echo "setup: needs root for: apt-get install$missing" >&2
      exit 1
    fi
  fi
  echo "setup: installing$missing" >&2
  $as_root apt-get -qq update
  # shellcheck disable=SC2086 # a list of words
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y \
    --no-install-recommends $missing >/dev/null
}

# What reports and their browser tests are made with, where the machine has not got it otherwise.
report_packages() {
  command -v npm >/dev/null 2>&1 || echo nodejs npm
}

# What the page's engine is compiled with and from.
page_packages='cmake ninja-build libboost-dev nlohmann-json3-dev libcli11-dev libfmt-dev emscripten'

# Builds the page in build/web. Emscripten's own scripts want Debian's modules of Node, whichever Node
# comes first on PATH.
build_page() {
  # shellcheck disable=SC2046,SC2086 # lists of words
  install_packages $page_packages $(report_packages)
  NODE_PATH=${NODE_PATH:+$NODE_PATH:}/usr/share/nodejs
  export NODE_PATH
  build wasm
}

# Makes everything in build/dist. The program is static and has its data inside, so that its archive
# needs nothing of the machine that it is unpacked on.
make_dist() {
  # shellcheck disable=SC2086 # a list of words
  install_packages $build_packages python3-dev pybind11-dev python3-setuptools python3-wheel
  build static
  build_page
  version=$(sed -n 's/^project(prequel VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
  machine=$(uname -m)
  dist=$root/build/dist
  folder=prequel-$version-linux-$machine
  rm -rf "$dist"
  mkdir -p "$dist/$folder/bin" "$dist/page"
  (
    cd "$root"
    strip -o "$dist/$folder/bin/prequel" build/static/cli/prequel
    cp LICENSE README.md CHANGELOG.md "$dist/$folder/"
    tar -C "$dist" --owner=0 --group=0 -czf "$dist/$folder.tar.gz" "$folder"
    rm -rf "${dist:?}/$folder"
    PREQUEL_BUILD=build/static /usr/bin/python3 setup.py --quiet bdist_wheel --dist-dir "$dist" \
      --plat-name "manylinux_2_36_$machine" \
      --bdist-dir build/wheel
    cpack --config build/static/CPackConfig.cmake -G DEB -B build/deb >/dev/null
    mv build/deb/*.deb "$dist/"
    [ ! -e build/web/index.html ] || cp -r build/web/. "$dist/page/"
  ) >&2
  if [ ! -e "$dist/page/index.html" ]; then
    echo "setup: there is no page: npm could not fetch uPlot" >&2
    exit 1
  fi
  ls -d "$dist"/*
}

# Builds the target $2 (all of them where it is left out) of the preset $1 in build/$1.
build() {
  # A build folder that was copied here from elsewhere is of no use: begin it anew.
  fresh=--fresh
  if grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$root/build/$1/CMakeCache.txt"; then
    fresh=
  fi
  # What users run comes with the Python module; under sanitizers it could not be loaded.
  module=
  [ "$1" != release ] || module=-DPREQUEL_PYTHON_MODULE=ON
  (
    cd "$root"
    # Nothing to tell where nothing is left to do: the configuration's lines are shown on failure,
    # or where it begins anew.
    if [ -n "$fresh" ]; then
      cmake $fresh --preset "$1" $module
    elif ! configured=$(cmake --preset "$1" $module 2>&1); then
      printf '%s\n' "$configured"
      exit 1
    fi
    cmake --build --preset "$1" ${2:+--target "$2"} ${2:+-- --quiet}
  ) >&2
}

root=$(cd "$(dirname "$0")/.." && pwd -P)
task=${1:-}
[ $# -eq 0 ] || shift

case $task in
  run)
    # shellcheck disable=SC2086 # a list of words
    install_packages $build_packages
    build release prequel
    exec "$root/build/release/cli/prequel" "$@"
    ;;
  test)
    preset=${1:-release}
    [ $# -eq 0 ] || shift
    # shellcheck disable=SC2086 # a list of words
    install_packages $test_packages $(report_packages) chromium
    # A page that is there is tested as it is built now; without one its test is skipped.
    [ ! -e "$root/build/web" ] || build_page
    build "$preset"
    cd "$root"
    exec ctest --preset "$preset" --parallel "$(nproc)" "$@"
    ;;
  dist)
    [ $# -eq 0 ] || usage
    make_dist
    ;;
  docs)
    [ $# -eq 0 ] || usage
    # shellcheck disable=SC2086 # a list of words
    install_packages $docs_packages
    mkdocs build --quiet --config-file "$root/cmake/docs/mkdocs.yml"
    echo "$root/build/docs/index.html"
    ;;
  web)
    [ $# -eq 0 ] || usage
    build_page
    if [ ! -e "$root/build/web/index.html" ]; then
      echo "setup: there is no page: npm could not fetch uPlot" >&2
      exit 1
    fi
    echo "$root/build/web/index.html"
    ;;
  *) usage ;;
esac
