#!/usr/bin/env bash
# Runs a command where Docker answers and the base images are there: `scripts/containers/with-docker.sh COMMAND…`. A daemon is started
# as root when none runs, and stopped again; base images are pulled, or replaced by scripts/containers/standin-images.sh. Anything
# unavailable is a failure. DOCKER_TESTS=off skips all of it, and says so.
set -uo pipefail
cd "$(dirname "$0")/../.."
cache=$PWD/.cache/docker
mkdir -p "$cache"
daemon=

say() { printf 'with-docker: %s\n' "$*" >&2; }

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

if [ "${DOCKER_TESTS:-on}" = off ]; then
  say 'NOT RUN, because DOCKER_TESTS=off'
  echo '0 passed, 0 failed'
  exit 0
fi
trap stop_daemon EXIT
have_daemon
source scripts/containers/base-images.sh
scripts/containers/standin-images.sh || give_up 'the base images can neither be pulled nor stood in for'
"$@"
