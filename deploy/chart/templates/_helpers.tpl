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
{{- if has $name (list "labels" "requests" "limits") -}}
{{- else if hasKey $values $name -}}
{{- if $isMap }}{{ include "rx.fill" (dict "values" (get $values $name) "defaults" $default) }}{{ end -}}
{{- else if $isMap -}}{{- $_ := set $values $name $default -}}
{{- else if kindIs "slice" $default -}}{{- $_ := set $values $name list -}}
{{- else if not (has $name (list "replicas" "port" "runAsUser")) -}}{{- $_ := set $values $name $default -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A name for everything: the release's, or release-chart. */}}
{{- define "rx.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "rx.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ toYaml .Release.Name }}
{{- end }}

{{- define "rx.labels" -}}
{{ include "rx.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "rx.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{/* Numbers of YAML arrive as floats: 67108864, not 6.7108864e+07. */}}
{{- define "rx.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The limit of bodies, as the service reads it. */}}
{{- define "rx.maxRequestBytes" -}}
{{ mul (int64 .Values.maxRequestMiB) 1048576 }}
{{- end }}

{{/* What Envoy may buffer of a request, in MiB: a quarter more, since its Chat form counts too and may be longer. */}}
{{- define "rx.bufferMiB" -}}
{{ div (mul 5 (int64 .Values.maxRequestMiB)) 4 }}
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
{{- $upstream := .Values.gateway.upstream -}}
{{- $chat := printf "outbound|54321||%s-ip-" $upstream.name -}}
{{- if eq $upstream.kind "Service" }}{{ $chat = printf "outbound|%d||%s" (int64 $upstream.port) (include "rx.upstreamHost" .) }}{{ end -}}
{ inclusionPrefixes: ["cluster.{{ include "rx.cluster" . }}", "cluster.{{ $chat }}", "http.outbound_0.0.0.0_", "server."] }
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

{{/* The proxies, as peers of a network policy. */}}
{{- define "rx.proxies" -}}
{{- if .Values.networkPolicy.proxies }}
{{- toYaml .Values.networkPolicy.proxies | nindent 0 }}
{{- else if eq .Values.gateway.kind "envoy-gateway" }}
- namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ toYaml .Values.gateway.envoyGateway.namespace }} } }
  podSelector:
    matchLabels:
      app.kubernetes.io/managed-by: envoy-gateway
      app.kubernetes.io/component: proxy
      gateway.envoyproxy.io/owning-gateway-name: {{ toYaml .Values.gateway.name }}
{{- else if eq .Values.gateway.kind "istio" }}
- podSelector:
    matchLabels: {{- include "rx.istioProxies" . | nindent 6 }}
  {{- with .Values.gateway.namespace }}
  namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ toYaml . }} } }
  {{- end }}
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

{{/* The names of the Chat server's Service, and of the service's own. */}}
{{- define "rx.upstreamHost" -}}
{{ include "rx.clusterHost" (dict "root" . "name" .Values.gateway.upstream.name "namespace" (.Values.gateway.upstream.namespace | default .Release.Namespace)) }}
{{- end }}
{{- define "rx.serviceHost" -}}
{{ include "rx.clusterHost" (dict "root" . "name" (include "rx.name" .) "namespace" .Release.Namespace) }}
{{- end }}

{{- define "rx.upstream" -}}
{{- $pass := ($.Files.Get "files/envoy.json" | fromJson).loop.header -}}
{{- with .Values.gateway.upstream -}}
filters:
  # The upstream does not learn who the client is; the access log does.
  - type: RequestHeaderModifier
    requestHeaderModifier:
      add: [{ name: {{ $pass.key }}, value: {{ $pass.value }} }] # each pass, so that a loop is noticed
      remove: [x-envoy-external-address, x-envoy-internal, x-forwarded-for{{ if and $.Values.gateway.auth.jwt.jwksUri (eq $.Values.gateway.kind "istio") }}, authorization{{ end }}]
backendRefs: [{ {{ with .group }}group: {{ . }}, {{ end }}kind: {{ .kind }}, name: {{ toYaml .name }}{{ with .namespace }}, namespace: {{ toYaml . }}{{ end }}{{ with .port }}, port: {{ . }}{{ end }} }]
{{- end }}
{{- end }}

{{/* Alerts and dashboard of docs/monitoring, with the names that this gateway gives Envoy's cluster, connections and labels. */}}
{{- define "rx.monitoring" -}}
{{- $label := ternary "" "envoy_" (eq .root.Values.gateway.kind "istio") -}}
{{- $envoy := .root.Values.monitoring.envoy -}}
{{- $text := regexReplaceAll `envoy_cluster_name(!?=)(\\?")responses_extproc` .text (printf "%scluster_name${1}${2}%s" $label ($envoy.clusterName | default (include "rx.cluster" .root))) -}}
{{- with $envoy.statPrefix | default (include "rx.connections" .root) -}}
{{- $text = regexReplaceAll `envoy_http_conn_manager_prefix=(\\?")ingress` $text (printf "%shttp_conn_manager_prefix=~${1}%s" $label .) -}}
{{- end -}}
{{- /* A draining pod is not ready, for as long as its longest answers: a rollout must not raise an alert. */ -}}
{{- with .root.Values.drain -}}
{{- $minutes := add 5 (div (add .preStopSeconds .delaySeconds .timeoutSeconds) 60) | max 15 -}}
{{- $text = $text | replace "for: 15m" (printf "for: %dm" $minutes) | replace "for 15 minutes" (printf "for %d minutes" $minutes) -}}
{{- end -}}
{{ $text }}
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
