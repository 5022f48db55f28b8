#!/usr/bin/env bash
# `npm run test:docker`: the shipped image and compose file, run for real (test/docker). Brings what that needs:
# a Docker daemon (started here, as root, when none runs, and stopped again), Docker Compose, and the base images
# (pulled, or replaced by scripts/standin-images.sh). Anything unavailable is a failure. DOCKER_TESTS=off skips all of
# it, and says so. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/docker
mkdir -p "$cache"
daemon=

say() { printf 'docker tests: %s\n' "$*" >&2; }

give_up() {
  say "NOT RUN: $*"
  say 'Set DOCKER_TESTS=off to do without them.'
  echo '0 passed, 1 failed'
  exit 1
}

stop_daemon() {
  [ -n "$daemon" ] && kill "$daemon" && wait "$daemon" 2>/dev/null
}

# start_daemon OPTION…: true when it answers within 30 s.
start_daemon() {
  dockerd "$@" >"$cache/dockerd.log" 2>&1 &
  daemon=$!
  for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && return 0
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.5
  done
  kill "$daemon" 2>/dev/null
  wait "$daemon" 2>/dev/null
  daemon=
  return 1
}

have_daemon() {
  command -v docker >/dev/null || give_up 'there is no docker command'
  docker info >/dev/null 2>&1 && return
  command -v dockerd >/dev/null || give_up 'no Docker daemon answers and there is none to start'
  [ "$(id -u)" = 0 ] || give_up 'no Docker daemon answers, and only root can start one'
  say 'starting dockerd'
  # vfs is slow, but works on file systems that the others refuse.
  start_daemon || start_daemon --storage-driver=vfs || give_up "dockerd does not start: $(tail -n 1 "$cache/dockerd.log")"
}

# Debian's package of the Compose plugin, unpacked next to a separate Docker configuration.
have_compose() {
  docker compose version >/dev/null 2>&1 && return
  [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || give_up 'Docker Compose is not installed'
  local package=docker-compose_2.26.1-4_amd64.deb
  local sum=47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea
  export DOCKER_CONFIG=$cache/config
  mkdir -p "$DOCKER_CONFIG/cli-plugins"
  if ! docker compose version >/dev/null 2>&1; then
    say "fetching $package"
    curl -fsSL -o "$cache/$package" "${DEBIAN_MIRROR:-$(scripts/debian-mirror.sh)}/pool/main/d/docker-compose/$package" &&
      echo "$sum  $cache/$package" | sha256sum --check --quiet &&
      dpkg-deb --extract "$cache/$package" "$cache/compose" &&
      cp "$cache/compose/usr/libexec/docker/cli-plugins/docker-compose" "$DOCKER_CONFIG/cli-plugins/"
  fi
  docker compose version >/dev/null 2>&1 || give_up 'Docker Compose is not installed and could not be fetched'
}

if [ "${DOCKER_TESTS:-on}" = off ]; then
  say 'NOT RUN, because DOCKER_TESTS=off'
  echo '0 passed, 0 failed'
  exit 0
fi
trap stop_daemon EXIT
have_daemon
have_compose
scripts/standin-images.sh || give_up 'the base images can neither be pulled nor stood in for'

# The tests build it too, from this cache; here its output is visible.
if ! SERVICE_IMAGE=responses-extproc:test docker compose --progress plain build >"$cache/build.log" 2>&1; then
  tail -n 40 "$cache/build.log" >&2
  give_up 'the image cannot be built'
fi

# Testcontainers' own cleaner is one more image to pull; the tests take down what they started.
export TESTCONTAINERS_RYUK_DISABLED=true
export PATH=$PWD/node_modules/.bin:$PATH
node scripts/vitest-report.ts docker "$@" </dev/null
