#!/usr/bin/env bash
# `npm test -- docker`: the shipped image and compose file, run for real (test/docker), by scripts/containers/with-docker.sh. Brings Docker
# Compose. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/../.."
[ "${WITH_DOCKER:-}" = yes ] || WITH_DOCKER=yes exec scripts/containers/with-docker.sh "$0" "$@"
cache=$PWD/.cache/docker

say() { printf 'docker tests: %s\n' "$*" >&2; }

give_up() {
  say "NOT RUN: $*"
  echo '0 passed, 1 failed'
  exit 1
}

# Debian 13's package of the Compose plugin, checked by apt and unpacked next to a separate Docker configuration.
have_compose() {
  docker compose version >/dev/null 2>&1 && return
  command -v apt-get >/dev/null || give_up 'Docker Compose is not installed'
  export DOCKER_CONFIG=$cache/config
  mkdir -p "$DOCKER_CONFIG/cli-plugins"
  if ! docker compose version >/dev/null 2>&1; then
    say 'fetching docker-compose of Debian 13'
    local apt=$cache/apt
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    rm -f "$apt"/docker-compose_*.deb
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${DEBIAN_MIRROR:-$(scripts/containers/debian-mirror.sh)} trixie main" >"$apt/sources.list"
    local own=(-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt")
    apt-get "${own[@]}" update -qq && (cd "$apt" && apt-get "${own[@]}" download -qq docker-compose) &&
      dpkg-deb --extract "$apt"/docker-compose_*.deb "$cache/compose" &&
      cp "$cache/compose/usr/libexec/docker/cli-plugins/docker-compose" "$DOCKER_CONFIG/cli-plugins/"
  fi
  docker compose version >/dev/null 2>&1 || give_up 'Docker Compose is not installed and could not be fetched'
}

have_compose

# The tests build it too, from this cache; here its output is visible.
if ! SERVICE_IMAGE=responses-extproc:test docker compose --progress plain build >"$cache/build.log" 2>&1; then
  tail -n 40 "$cache/build.log" >&2
  give_up 'the image cannot be built'
fi

# Testcontainers' own cleaner is one more image to pull; the tests take down what they started.
export TESTCONTAINERS_RYUK_DISABLED=true
export PATH=$PWD/node_modules/.bin:$PATH
node scripts/tests/vitest-report.ts docker "$@" </dev/null
