# The service as an image: Node, and the service as one file with what it depends on. No shell, no package manager, no root.
#
#   docker build --build-arg REVISION="$(git rev-parse HEAD)" --build-arg SOURCE="$(git remote get-url origin)" \
#     --tag responses-extproc .
#
# Both bases can be replaced, by a mirror or by another Node LTS image; the second needs `node` on its PATH or in
# /nodejs/bin and nothing else. Renovate pins both by digest (`docker:pinDigests` in renovate.json); until its first run they are
# tags, by which a build of tomorrow may be of another Node.
ARG NODE_BUILD_IMAGE=node:24-bookworm-slim
ARG NODE_RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot

FROM ${NODE_BUILD_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts/build.ts scripts/build-inspector.ts scripts/
COPY scripts/generate/wire-numbers.ts scripts/generate/
COPY proto proto
COPY src src
RUN npm run build

FROM ${NODE_RUNTIME_IMAGE}
# What glibc keeps of freed memory: docs/operating.md, "The garbage collector".
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Whoever breaks into the service cannot change what it runs. Before WORKDIR, which makes the folder for this user.
USER 0:0
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/dist dist
# What V8 compiles at a start, kept for every later one (src/program/bundle-main.ts): made by the Node and with the flags that will run.
RUN ["node", "--single-threaded-gc", "--max-semi-space-size=16", "--initial-heap-size=96", "-e", "process.env.LISTEN = 'unix:/tmp/start.sock'; process.env.DRAIN_DELAY_MS = '0'; setTimeout(process.kill, 3000, process.pid, 'SIGTERM'); require('/app/dist/main.js')"]
# By number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 65532:65532
EXPOSE 50051 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s --retries=3 CMD ["node", "/app/dist/probe.js"]
# Collections on one thread: docs/operating.md, "The garbage collector".
ENTRYPOINT ["node", "--single-threaded-gc", "--max-semi-space-size=16", "--initial-heap-size=96", "/app/dist/main.js"]
# Last, since the revision changes with every build. The version equals package.json's; test/docker compares them.
ARG VERSION=1.0.0-rc.1
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="responses-extproc" \
      org.opencontainers.image.description="Envoy ext_proc service: OpenAI Responses API in front of Chat Completions servers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
