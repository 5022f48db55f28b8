# Sets the base images' names: those of the environment, else those of docker-compose.yml. To be sourced from the root.
# A stand-in can have a base's name and tag, but not its digest: where the pinned image is not to be had, its name goes without one.
for name in NODE_BUILD_IMAGE NODE_RUNTIME_IMAGE ENVOY_IMAGE; do
  image=${!name:-$(sed -n "s/^.*\${$name:-\([^}]*\)}.*$/\1/p" docker-compose.yml | head -n 1)}
  if [[ $image == *@* && -z ${registry_unreachable:-} ]] && ! docker image inspect "$image" >/dev/null 2>&1; then
    timeout "${PULL_TIMEOUT:-20}" docker pull --quiet "$image" >/dev/null 2>&1 || registry_unreachable=yes
  fi
  [ -z "${registry_unreachable:-}" ] || image=${image%@*}
  export "$name=$image"
done
