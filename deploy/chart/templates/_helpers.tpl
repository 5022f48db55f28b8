{{/*
Every template begins with it. A release that an older chart installed may lack values, since `helm upgrade --reuse-values` keeps
its own instead of this chart's defaults: they get them. What null switches off stays off: lists, labels, quantities, a number of
replicas, a port, a user.
*/}}
{{- define "rx.defaults" -}}
{{- include "rx.fill" (dict "values" .Values "defaults" (.Files.Get "files/defaults.yaml" | fromYaml)) -}}
{{- end }}
{{- define "rx.fill" -}}
{{- $values := .values -}}
{{- range $name, $default := .defaults -}}
{{- $isMap := kindIs "map" $default -}}
{{- if eq $name "labels" }}{{ $_ := set $values $name (get $values $name | default dict) -}}
{{- else if has $name (list "requests" "limits") -}}
{{- else if hasKey $values $name -}}
{{- if $isMap }}{{ include "rx.fill" (dict "values" (get $values $name) "defaults" $default) }}{{ end -}}
{{- else if $isMap -}}{{- $_ := set $values $name $default -}}
{{- else if kindIs "slice" $default -}}{{- $_ := set $values $name list -}}
{{- else if not (has $name (list "replicaCount" "heapMiB" "maxRequestMiB" "port" "runAsUser" "runAsGroup")) -}}{{- $_ := set $values $name $default -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A name for everything: the one that is given, the release's, or release-chart. */}}
{{- define "rx.name" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{ .Values.fullnameOverride | default $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "rx.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "rx.name" .) }}
{{- end }}

{{- define "rx.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ toYaml .Release.Name }}
{{- end }}

{{- define "rx.labels" -}}
{{ include "rx.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The security context of the pods, of `helm test` too. */}}
{{- define "rx.podSecurity" -}}
{{- $own := dict -}}
{{- $group := .Values.podSecurityContext.runAsGroup -}}
{{- if and .Values.tls.secretName (not (kindIs "invalid" $group)) }}{{ $_ := set $own "fsGroup" (int64 $group) }}{{ end -}}
{{- /* Numbers of YAML arrive as floats, and what the platform fills in as null. */ -}}
{{- range $name, $value := .Values.podSecurityContext }}{{ if not (kindIs "invalid" $value) }}{{ $_ := set $own $name (kindIs "float64" $value | ternary (int64 $value) $value) }}{{ end }}{{ end -}}
{{ toYaml $own }}
{{- end }}

{{- define "rx.image" -}}
{{- with .Values.global.imageRegistry | default .Values.image.registry }}{{ . }}/{{ end -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{/* Secrets for the registry, of the umbrella chart and of this one: as objects, whether given as such or as names. */}}
{{- define "rx.pullSecrets" -}}
{{- $all := list -}}
{{- range concat (.Values.global.imagePullSecrets | default list) .Values.imagePullSecrets }}{{ $all = append $all (kindIs "string" . | ternary (dict "name" .) .) }}{{ end -}}
{{- with uniq $all }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The sum of the steps of the drain, and a reserve: the least that the pod's grace period may be. */}}
{{- define "rx.drainSeconds" -}}
{{ with .Values.drain }}{{ add .preStopSeconds .delaySeconds .timeoutSeconds 5 }}{{ end }}
{{- end }}

{{/* Numbers of YAML arrive as floats: 67108864, not 6.7108864e+07. */}}
{{- define "rx.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/*
What was measured of memory, heap and the largest request, in MiB (docs/operating.md): the row for this limit of memory, or for 1Gi
where there is none.
*/}}
{{- define "rx.size" -}}
{{- $limit := 1024 -}}
{{- with (.Values.resources.limits).memory }}{{ $limit = div (include "rx.bytes" (dict "name" "resources.limits.memory" "value" .) | int64) 1048576 }}{{ end -}}
{{- $row := list 512 320 9 -}}
{{- range list (list 1024 700 22) (list 2048 1400 45) (list 3072 2048 64) }}{{ if ge $limit (first .) }}{{ $row = . }}{{ end }}{{ end -}}
{{ toJson (prepend $row $limit) }}
{{- end }}
{{- define "rx.heapMiB" -}}
{{- $size := include "rx.size" . | fromJsonArray -}}
{{ .Values.heapMiB | default (div (mul (index $size 0 | int64) (index $size 2 | int64)) (index $size 1 | int64)) | int64 }}
{{- end }}
{{- define "rx.maxRequestMiB" -}}
{{- $size := include "rx.size" . | fromJsonArray -}}
{{ .Values.maxRequestMiB | default (div (mul (include "rx.heapMiB" . | int64) (index $size 3 | int64)) (index $size 2 | int64) | max 1) | int64 }}
{{- end }}

{{/* The limit of bodies, as the service reads it. */}}
{{- define "rx.maxRequestBytes" -}}
{{ mul (include "rx.maxRequestMiB" . | int64) 1048576 }}
{{- end }}

{{/* What Envoy may buffer of a request, in MiB: a quarter more, since its Chat form counts too and may be longer. */}}
{{- define "rx.bufferMiB" -}}
{{ div (mul 5 (include "rx.maxRequestMiB" . | int64)) 4 }}
{{- end }}

{{/* The fields of the access log, for the filter of this name. */}}
{{- define "rx.accessLog" -}}
{{- (.root.Files.Get "files/envoy.json" | fromJson).accessLog | toJson | replace "envoy.filters.http.ext_proc:" (printf "%s:" .filter) | fromJson | toYaml }}
{{- end }}

{{/* The filter's name under Istio: unique to this release, since a Gateway may carry the filters of several. */}}
{{- define "rx.filter" -}}
responses-extproc/{{ .Release.Namespace }}/{{ include "rx.name" . }}
{{- end }}

{{/* A quantity of Kubernetes as a number: 500m, 512Mi, 1.5Gi, 1G, 2e9. The schema knows its form. */}}
{{- define "rx.number" -}}
{{- $text := toString . -}}
{{- $unit := regexFind "([KMGTPE]i|[numkMGTPE])$" $text -}}
{{- $units := dict "n" 1e-9 "u" 1e-6 "m" 1e-3 "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{ mulf (trimSuffix $unit $text | float64) (get $units $unit) }}
{{- end }}

{{/* Memory in bytes. `name` is for the error. */}}
{{- define "rx.bytes" -}}
{{- $bytes := include "rx.number" .value | float64 -}}
{{- if or (lt $bytes 1048576.0) (gt $bytes 9e18) }}{{ fail (printf "%s: %s is not a quantity of memory of 1Mi or more, such as 512Mi, 2Gi or 2147483648" .name (include "rx.text" .value)) }}{{ end -}}
{{ int64 $bytes }}
{{- end }}

{{/* A duration in milliseconds: 900s, 1h30m. */}}
{{- define "rx.milliseconds" -}}
{{- $sum := 0 -}}
{{- $units := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- range regexFindAll "[0-9]+(ms|[hms])" . -1 }}{{ $sum = add $sum (mul (regexFind "^[0-9]+" . | int64) (get $units (regexFind "[hms]+$" .))) }}{{ end -}}
{{ $sum }}
{{- end }}

{{/* A duration as Envoy reads it, in seconds. */}}
{{- define "rx.seconds" -}}
{{- $all := include "rx.milliseconds" . | int64 -}}
{{ div $all 1000 }}{{ with mod $all 1000 }}{{ printf ".%03d" . }}{{ end }}s
{{- end }}

{{/* The statistics of Istio's Envoys that alerts and dashboard read. */}}
{{- define "rx.istioStats" -}}
{{- $prefixes := list (printf "cluster.%s" (include "rx.cluster" .)) -}}
{{- range include "rx.upstreams" . | fromJsonArray -}}
{{- $chat := ternary (printf "outbound|54321||%s-ip-" .name) (printf "outbound|%d||%s" (int64 .port) .istioHost) (eq .kind "InferencePool") -}}
{{- $prefixes = append $prefixes (printf "cluster.%s" $chat) -}}
{{- end -}}
{ inclusionPrefixes: {{ concat $prefixes (list "http.outbound_0.0.0.0_" "server.") | uniq | toJson }} }
{{- end }}

{{/*
The name of the GatewayClass, which has no namespace. A release that has one without the namespace in its name keeps it: a
Gateway that changes its class may lose its proxies for a moment.
*/}}
{{- define "rx.gatewayClass" -}}
{{- $former := include "rx.name" . -}}
{{- $of := ((lookup "gateway.networking.k8s.io/v1" "GatewayClass" "" $former).metadata).annotations | default dict -}}
{{- if and (eq (get $of "meta.helm.sh/release-name") .Release.Name) (eq (get $of "meta.helm.sh/release-namespace") .Release.Namespace) -}}
{{ $former }}
{{- else -}}
{{ printf "%s-%s" .Release.Namespace $former | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* The namespace of the Gateway. */}}
{{- define "rx.gatewayNamespace" -}}
{{ .Values.gateway.namespace | default .Release.Namespace }}
{{- end }}

{{/* The Service in front of the gateway's proxies, as the gateway names it. */}}
{{- define "rx.gatewayService" -}}
{{- $ns := include "rx.gatewayNamespace" . -}}
{{- $name := .Values.gateway.name -}}
{{- if eq .Values.gateway.kind "istio" -}}
{{ $name }}-{{ .Values.gateway.className | default "istio" }}.{{ $ns }}.svc
{{- else -}}
envoy-{{ printf "%s-%s" $ns $name | trunc 48 | trimSuffix "-" }}-{{ printf "%s/%s" $ns $name | sha256sum | trunc 8 }}.{{ .Values.gateway.envoyGateway.namespace }}.svc
{{- end }}
{{- end }}

{{/* The port of the Gateway. */}}
{{- define "rx.port" -}}
{{ .Values.gateway.port | default (ternary 80 443 (empty .Values.gateway.tlsSecretName)) | int64 }}
{{- end }}

{{/* A host that the routes are for; empty if they are for all. */}}
{{- define "rx.host" -}}
{{ first .Values.gateway.hostnames | default "" | replace "*" "any" }}
{{- end }}

{{/* Not empty if cert-manager makes the Gateway's certificate: for the host of the listener, which has none otherwise. */}}
{{- define "rx.issued" -}}
{{- range $name, $_ := .Values.gateway.annotations }}{{ if hasPrefix "cert-manager.io/" $name }}{{ $name }}{{ end }}{{ end -}}
{{- end }}

{{/* A Service's name in the cluster, as Istio names it. */}}
{{- define "rx.clusterHost" -}}
{{ .name }}.{{ .namespace }}.svc.{{ .root.Values.gateway.istio.clusterDomain }}
{{- end }}

{{/* Where turns on WebSockets go. */}}
{{- define "rx.forwardTo" -}}
{{- with .Values.webSocket.forwardTo }}{{ . }}{{ else }}{{ printf "http://%s:%d/v1" (include "rx.gatewayService" .) (include "rx.port" . | int64) }}{{ end }}
{{- end }}

{{/* Labels of the proxies that Istio runs for the Gateway. */}}
{{- define "rx.istioProxies" -}}
{{- with .Values.gateway.istio.workloadLabels }}{{ toYaml . }}{{ else }}gateway.networking.k8s.io/gateway-name: {{ toYaml .Values.gateway.name }}{{ end }}
{{- end }}

{{/*
What a rule of Istio's is for. Every request, whatever Host it names: the routes take more spellings of a host than rules can
say. On a Gateway that others use, requests for its own hosts, if rules can say them: a wildcard with any port they cannot.
*/}}
{{- define "rx.istioHosts" -}}
{{- $hosts := list -}}
{{- range .Values.gateway.hostnames }}{{ $hosts = concat $hosts (list . (printf "%s:*" .)) }}{{ end -}}
{{- if and $hosts (not .Values.gateway.create) (not (regexMatch `\*` (join " " .Values.gateway.hostnames))) -}}
to: [{ operation: { hosts: {{ toJson $hosts }} } }]
{{- end }}
{{- end }}

{{/* Labels of the pods that run the gateway's Envoys, and their namespace. */}}
{{- define "rx.proxyLabels" -}}
{{- if eq .Values.gateway.kind "istio" -}}
{{ include "rx.istioProxies" . }}
{{- else -}}
app.kubernetes.io/managed-by: envoy-gateway
app.kubernetes.io/component: proxy
gateway.envoyproxy.io/owning-gateway-name: {{ toYaml .Values.gateway.name }}
{{- end }}
{{- end }}
{{- define "rx.proxyNamespace" -}}
{{ ternary (include "rx.gatewayNamespace" .) .Values.gateway.envoyGateway.namespace (eq .Values.gateway.kind "istio") | toYaml }}
{{- end }}

{{/* How often a monitor scrapes, and what it changes. */}}
{{- define "rx.scrape" -}}
interval: {{ .interval }}{{ with .scrapeTimeout }}, scrapeTimeout: {{ . }}{{ end }}{{ with .relabelings }}, relabelings: {{ toJson . }}{{ end }}{{ with .metricRelabelings }}, metricRelabelings: {{ toJson . }}{{ end }}
{{- end }}

{{/* The proxies, as peers of a network policy. */}}
{{- define "rx.proxies" -}}
{{- if .Values.networkPolicy.proxies }}
{{- toYaml .Values.networkPolicy.proxies | nindent 0 }}
{{- else if eq .Values.gateway.kind "envoy-gateway" }}
- namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ include "rx.proxyNamespace" . }} } }
  podSelector:
    matchLabels: {{- include "rx.proxyLabels" . | nindent 6 }}
{{- else if eq .Values.gateway.kind "istio" }}
- podSelector:
    matchLabels: {{- include "rx.proxyLabels" . | nindent 6 }}
  {{- with .Values.gateway.namespace }}
  namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ toYaml . }} } }
  {{- end }}
{{- else }}
- podSelector: {} # any of this namespace: the proxies are not known
{{- end }}
{{- end }}

{{/* Envoy's name for the cluster of the service, as its metrics carry it. */}}
{{- define "rx.cluster" -}}
{{- if eq .Values.gateway.kind "envoy-gateway" -}}
envoyextensionpolicy/{{ .Release.Namespace }}/{{ include "rx.name" . }}/extproc/0
{{- else if eq .Values.gateway.kind "istio" -}}
outbound|50051||{{ include "rx.serviceHost" . }}
{{- else -}}
responses_extproc
{{- end }}
{{- end }}

{{- define "rx.parentRefs" -}}
parentRefs:
  - name: {{ toYaml .Values.gateway.name }}
    {{- with .Values.gateway.namespace }}
    namespace: {{ toYaml . }}
    {{- end }}
    {{- with .Values.gateway.sectionName }}
    sectionName: {{ toYaml . }}
    {{- end }}
{{- with .Values.gateway.hostnames }}
hostnames: {{ toJson . }}
{{- end }}
{{- end }}

{{/* The service's own name in the cluster. */}}
{{- define "rx.serviceHost" -}}
{{ include "rx.clusterHost" (dict "root" . "name" (include "rx.name" .) "namespace" .Release.Namespace) }}
{{- end }}

{{/*
The Chat servers, a list in JSON: those that serve some models, and at last the one that serves all others. Each has kind, group, name,
namespace and port as a route names it, `object`, by which its objects are called, and `istioHost`; of gateway.upstreams also tls, apiKey,
path, `pattern`, a regular expression for its models, and `profile`, where the service has to be told which one it is.
*/}}
{{- define "rx.upstreams" -}}
{{- $root := . -}}
{{- $given := .Values.gateway.upstreams -}}
{{- $all := list -}}
{{- if not $given -}}
{{- $all = list (merge (dict "object" (printf "%s-upstream" (include "rx.name" .)) "apiKey" dict "tls" dict "path" "") .Values.gateway.upstream) -}}
{{- end -}}
{{- $last := include "rx.defaultUpstream" . | fromJson -}}
{{- $lastProfile := $last.profile | default .Values.config.UPSTREAM_PROFILE | default "generic" -}}
{{- range $one := $given -}}
{{- $isLast := eq .name $last.name -}}
{{- $of := dict "object" (printf "%s-%s" (include "rx.name" $root) .name) "port" .port "path" (.path | default "") "group" "" "kind" "Service" "pattern" "" "profile" "" -}}
{{- $_ := set $of "apiKey" dict -}}
{{- with .apiKey -}}
{{- $profile := $one.profile | default $root.Values.config.UPSTREAM_PROFILE | default "generic" -}}
{{- $base := (get $root.Values.profiles $profile | default dict).extends | default $profile -}}
{{- $header := .header | default (get ($root.Files.Get "files/settings.json" | fromJson).keyHeaders $base) | default "authorization" -}}
{{- $_ := set $of "apiKey" (dict "name" .name "key" (.key | default "credential") "header" $header) -}}
{{- end -}}
{{- $tls := .tls | default dict -}}
{{- $hasTls := hasKey $tls "enabled" | ternary $tls.enabled (hasKey . "host") -}}
{{- $_ := set $of "tls" (ternary (merge (dict "sni" ($tls.sni | default .host)) $tls) dict $hasTls) -}}
{{- if .host -}}
{{- $_ := set $of "external" .host -}}
{{- $_ := set $of "istioHost" .host -}}
{{- $_ := set $of "group" (ternary "networking.istio.io" "gateway.envoyproxy.io" (eq $root.Values.gateway.kind "istio")) -}}
{{- $_ := set $of "kind" (ternary "Hostname" "Backend" (eq $root.Values.gateway.kind "istio")) -}}
{{- $_ := set $of "name" (ternary .host $of.object (eq $root.Values.gateway.kind "istio")) -}}
{{- else -}}
{{- $_ := set $of "name" .service.name -}}
{{- $_ := set $of "namespace" .service.namespace -}}
{{- end -}}
{{- $_ := set $of "idleTimeout" (.idleTimeout | default (ternary "60s" "4s" (hasKey . "host"))) -}}
{{- $_ := set $of "maxRequestsPerConnection" (.maxRequestsPerConnection | default (ternary 0 90 (hasKey . "host"))) -}}
{{- if not $isLast -}}
{{- $patterns := list -}}
{{- range .models }}{{ $patterns = append $patterns (hasSuffix "*" . | ternary (printf "%s.*" (trimSuffix "*" . | regexQuoteMeta)) (regexQuoteMeta .)) }}{{ end -}}
{{- $_ := set $of "pattern" (join "|" $patterns) -}}
{{- $profile := .profile | default $lastProfile -}}
{{- if or (ne $profile $lastProfile) .path $last.path }}{{ $_ := set $of "profile" $profile }}{{ end -}}
{{- end -}}
{{- $all = ternary (append $all $of) (prepend $all $of) $isLast -}}
{{- end -}}
{{- range $all }}{{ if not .istioHost }}{{ $_ := set . "istioHost" (include "rx.clusterHost" (dict "root" $root "name" .name "namespace" (.namespace | default $root.Release.Namespace))) }}{{ end }}{{ end -}}
{{- /* The last one last, the others as they are given. */ -}}
{{- if $given }}{{ $all = append (without $all (last $all) | reverse) (last $all) }}{{ end -}}
{{ toJson $all }}
{{- end }}

{{/* The one of gateway.upstreams that serves what no other does, in JSON; empty without any. */}}
{{- define "rx.defaultUpstream" -}}
{{- $found := dict -}}
{{- $given := .Values.gateway.upstreams -}}
{{- range $given }}{{ if or .default (not .models) (eq (len $given) 1) }}{{ $found = . }}{{ end }}{{ end -}}
{{ toJson $found }}
{{- end }}

{{/* What a release says of its upstreams' differences in its own environment: those of the last one. */}}
{{- define "rx.upstreamEnv" -}}
{{- with include "rx.defaultUpstream" . | fromJson -}}
{{- with .profile }}
- { name: UPSTREAM_PROFILE, value: {{ . | quote }} }
{{- end }}
{{- with .path }}
- { name: UPSTREAM_PATH, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{/* What Envoy tells the service of an upstream: its profile and its path. */}}
{{- define "rx.overrides" -}}
"@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
{{- if .profile }}
overrides:
  grpc_initial_metadata:
    - { key: x-upstream-profile, value: {{ .profile | quote }} }
    {{- with .path }}
    - { key: x-upstream-path, value: {{ . | quote }} }
    {{- end }}
{{- else }}
overrides: {}
{{- end }}
{{- end }}

{{/* The value of `authorization` for Envoy to make of a key that it has put there: a scheme before it, unless there is one. */}}
{{- define "rx.bearer" -}}
%CEL(request.headers['authorization'].contains(' ') ? '' : 'Bearer ')%%REQ(authorization)%
{{- end }}

{{/* The same as a filter of an upstream's cluster, behind the one that puts the key there. */}}
{{- define "rx.bearerFilter" -}}
name: envoy.filters.http.header_mutation
typed_config:
  "@type": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation
  mutations:
    request_mutations:
      - append:
          append_action: OVERWRITE_IF_EXISTS_OR_ADD
          header: { key: authorization, value: {{ include "rx.bearer" . | quote }} }
{{- end }}

{{/* Where Istio's proxies find the key of an upstream. */}}
{{- define "rx.keyFolder" -}}
/etc/istio/keys/{{ .object }}
{{- end }}

{{/* The script by which Envoy finds out the model of a request. */}}
{{- define "rx.byModel" -}}
{{- if gt (len .Values.gateway.upstreams) 1 }}{{ .Files.Get "files/route-by-model.lua" }}{{ end -}}
{{- end }}

{{/* What stands in the place of /v1 in an upstream's paths, if anything does. */}}
{{- define "rx.base" -}}
{{- $base := trimSuffix "/chat/completions" .path -}}
{{- if and (ne $base .path) (ne $base "/v1") (not (hasPrefix "/v1/" $base)) (not (contains "{" $base)) }}{{ $base }}{{ end -}}
{{- end }}

{{/*
The rules of an HTTPRoute: one for each upstream, by model, and the last one for every other request. `matches` is a list, `alone`
those that have no body and so no model.
*/}}
{{- define "rx.rules" -}}
{{- $root := .root -}}
{{- $pass := (.root.Files.Get "files/envoy.json" | fromJson).loop.header -}}
{{- $upstreams := include "rx.upstreams" .root | fromJsonArray -}}
{{- $istioJwt := and .root.Values.gateway.auth.jwt.jwksUri (eq .root.Values.gateway.kind "istio") -}}
{{- $matches := .matches -}}
{{- $alone := .alone | default list -}}
{{- $isOne := eq (len $upstreams) 1 -}}
rules:
{{- range $upstreams }}
{{- $upstream := . }}
{{- /*
Envoy chooses the filters of a request by its first route, before its model is known: the key of one upstream among several is put there
by a filter of its cluster, and that of one alone by a filter of its route, to which the route itself can add the scheme.
*/ -}}
{{- $keyFilter := ternary (printf "%s-key" .object) "" (and (eq $root.Values.gateway.kind "envoy-gateway") (not (empty .apiKey.name))) }}
  - matches:
      {{- if .pattern }}
      {{- range $matches }}
      - {{ merge (dict "headers" (list (dict "type" "RegularExpression" "name" "x-gateway-model-name" "value" $upstream.pattern))) . | toYaml | nindent 8 | trim }}
      {{- end }}
      {{- else }}
      {{- range concat $matches $alone }}
      - {{ toYaml . | nindent 8 | trim }}
      {{- end }}
      {{- end }}
    filters:
      # The upstream does not learn who the client is; the access log does.{{ if .apiKey.name }} Nor the client's key: it has one of its own.{{ end }}
      - type: RequestHeaderModifier
        requestHeaderModifier:
          add: [{ name: {{ $pass.key }}, value: {{ $pass.value }} }] # each pass, so that a loop is noticed
          {{- $remove := list "x-envoy-external-address" "x-envoy-internal" "x-forwarded-for" }}
          {{- if or $istioJwt .apiKey.name }}{{ $remove = append $remove "authorization" }}{{ end }}
          {{- if .apiKey.name }}{{ $remove = concat $remove (list "api-key" "x-api-key" "x-goog-api-key" .apiKey.header) | uniq }}{{ end }}
          {{- if not $isOne }}{{ $remove = append $remove "x-gateway-model-name" }}{{ end }}
          {{- if and $keyFilter $isOne }}
          {{- /* Its filter has put the key there by now. */ -}}
          {{- $remove = without $remove .apiKey.header }}
          {{- if eq .apiKey.header "authorization" }}
          set: [{ name: authorization, value: {{ include "rx.bearer" . | quote }} }]
          {{- end }}
          {{- end }}
          remove: [{{ join ", " $remove }}]
      {{- if and $keyFilter $isOne }}
      - type: ExtensionRef
        extensionRef: { group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: {{ $keyFilter }} }
      {{- end }}
      {{- if and (or .external (include "rx.base" .)) (eq $root.Values.gateway.kind "envoy-gateway") }}
      - type: ExtensionRef
        extensionRef: { group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: {{ .object }} }
      {{- else if .external }}
      - type: URLRewrite
        urlRewrite: { hostname: {{ .external }} }
      {{- end }}
    backendRefs:
      - {{ with .group }}group: {{ . }}
        {{ end }}kind: {{ .kind }}
        name: {{ toYaml .name }}
        {{- with .namespace }}
        namespace: {{ toYaml . }}
        {{- end }}
        {{- with .port }}
        port: {{ int64 . }}
        {{- end }}
        {{- if and $keyFilter (not $isOne) }}
        filters:
          - type: ExtensionRef
            extensionRef: { group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: {{ $keyFilter }} }
        {{- end }}
{{- end }}
{{- end }}

{{/* Alerts and dashboard of docs/monitoring, with the names that this gateway gives Envoy's clusters, connections and labels. */}}
{{- define "rx.monitoring" -}}
{{- $envoy := .root.Values.monitoring.envoy -}}
{{- $cluster := $envoy.clusterName | default (include "rx.cluster" .root) -}}
{{- $prefix := $envoy.statPrefix | default (include "rx.connections" .root) | default "ingress" -}}
{{- $upstreams := $envoy.upstreamClusters | default (include "rx.upstreamClusters" .root) -}}
{{- $text := .text | replace `envoy_cluster_name="responses_extproc"` (printf `envoy_cluster_name="%s"` $cluster) -}}
{{- $text = $text | replace `envoy_http_conn_manager_prefix="ingress"` (printf `envoy_http_conn_manager_prefix=~"%s"` $prefix) -}}
{{- $text = $text | replace `envoy_cluster_name=~"chat"` (printf `envoy_cluster_name=~"%s"` $upstreams) -}}
{{- /* The defaults of the dashboard's variables, which are regular expressions. */ -}}
{{- $text = $text | replace `"responses_extproc"` ($cluster | replace "|" "." | toJson) | replace `"ingress"` ($prefix | toJson) | replace `"chat"` ($upstreams | toJson) -}}
{{- if eq .root.Values.gateway.kind "istio" -}}
{{- $text = $text | replace "envoy_cluster_name" "cluster_name" | replace "envoy_http_conn_manager_prefix" "http_conn_manager_prefix" -}}
{{- end -}}
{{- /* A draining pod is not ready, for as long as its longest answers: a rollout must not raise an alert. */ -}}
{{- with .root.Values.drain -}}
{{- $minutes := add 5 (div (add .preStopSeconds .delaySeconds .timeoutSeconds) 60) | max 15 -}}
{{- $text = $text | replace "for: 15m" (printf "for: %dm" $minutes) | replace "for 15 minutes" (printf "for %d minutes" $minutes) -}}
{{- end -}}
{{ $text }}
{{- end }}

{{/* Envoy's names for the clusters of the Chat servers, as its metrics carry them: a regular expression. */}}
{{- define "rx.upstreamClusters" -}}
{{- if eq .Values.gateway.kind "envoy-gateway" -}}
httproute/{{ .Release.Namespace }}/{{ include "rx.name" . }}(-untouched)?/rule/.*
{{- else if eq .Values.gateway.kind "istio" -}}
{{- $names := list -}}
{{- range include "rx.upstreams" . | fromJsonArray -}}
{{- $names = append $names (ternary (printf "outbound.54321..%s-ip-.*" .name) (printf "outbound.%d..%s" (int64 .port) .istioHost) (eq .kind "InferencePool")) -}}
{{- end -}}
{{ join "|" $names }}
{{- else -}}
chat
{{- end -}}
{{- end }}

{{/* Envoy's name for the gateway's connections, as its metrics carry it: a regular expression. */}}
{{- define "rx.connections" -}}
{{- if eq .Values.gateway.kind "envoy-gateway" -}}
{{- $port := include "rx.port" . | int64 -}}
https?-{{ ternary (add 10000 $port) $port (lt $port 1024) }}
{{- else if eq .Values.gateway.kind "istio" -}}
outbound_0.0.0.0_.*
{{- end }}
{{- end }}
