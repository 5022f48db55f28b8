{{/* A name for everything: the release's, or release-chart. */}}
{{- define "rx.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "rx.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
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

{{/* The limit of bodies, as Envoy and the service read it. */}}
{{- define "rx.maxRequestBytes" -}}
{{ mul (int64 .Values.maxRequestMiB) 1048576 }}
{{- end }}

{{/* Where turns on WebSockets go. */}}
{{- define "rx.forwardTo" -}}
{{- with .Values.webSocket.forwardTo }}{{ . }}{{ else }}{{ printf "http://%s-istio.%s.svc:%d/v1" .Values.gateway.name .Release.Namespace (int64 .Values.gateway.port) }}{{ end }}
{{- end }}

{{/* Labels of the proxies that Istio runs for the Gateway. */}}
{{- define "rx.istioProxies" -}}
{{- with .Values.gateway.istio.workloadLabels }}{{ toYaml . }}{{ else }}gateway.networking.k8s.io/gateway-name: {{ .Values.gateway.name }}{{ end }}
{{- end }}

{{/* The proxies, as peers of a network policy. */}}
{{- define "rx.proxies" -}}
{{- if .Values.networkPolicy.proxies }}
{{- toYaml .Values.networkPolicy.proxies | nindent 0 }}
{{- else if eq .Values.gateway.kind "envoy-gateway" }}
- namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: envoy-gateway-system } }
  podSelector:
    matchLabels:
      app.kubernetes.io/managed-by: envoy-gateway
      app.kubernetes.io/component: proxy
      gateway.envoyproxy.io/owning-gateway-name: {{ .Values.gateway.name }}
{{- else if eq .Values.gateway.kind "istio" }}
- podSelector:
    matchLabels: {{- include "rx.istioProxies" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* Envoy's name for the cluster of the service, as its metrics carry it. */}}
{{- define "rx.cluster" -}}
{{- if eq .Values.gateway.kind "envoy-gateway" -}}
envoyextensionpolicy/{{ .Release.Namespace }}/{{ include "rx.name" . }}/extproc/0
{{- else if eq .Values.gateway.kind "istio" -}}
outbound|50051||{{ include "rx.name" . }}.{{ .Release.Namespace }}.svc.cluster.local
{{- else -}}
responses_extproc
{{- end }}
{{- end }}

{{- define "rx.parentRefs" -}}
parentRefs:
  - name: {{ .Values.gateway.name }}
{{- with .Values.gateway.hostnames }}
hostnames: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "rx.upstream" -}}
{{- with .Values.gateway.upstream -}}
filters:
  # An upstream is not told who the client is; the access log knows.
  - type: RequestHeaderModifier
    requestHeaderModifier: { remove: [x-envoy-external-address, x-envoy-internal, x-forwarded-for] }
backendRefs: [{ {{ with .group }}group: {{ . }}, {{ end }}kind: {{ .kind }}, name: {{ .name }}{{ with .port }}, port: {{ . }}{{ end }} }]
{{- end }}
{{- end }}

{{/* Envoy's name for the gateway's connections, as its metrics carry it: a regular expression. */}}
{{- define "rx.connections" -}}
{{- if eq .Values.gateway.kind "envoy-gateway" -}}
https?-{{ ternary (add 10000 .Values.gateway.port) .Values.gateway.port (lt (int64 .Values.gateway.port) 1024) }}
{{- else if eq .Values.gateway.kind "istio" -}}
outbound_0.0.0.0_.*
{{- end }}
{{- end }}
