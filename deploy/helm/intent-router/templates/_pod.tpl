{{- define "router.image" -}}
{{ .root.Values.image.repository }}:{{ .tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "router.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "router.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* A secret setting as the file that it is mounted as. */}}
{{- define "router.secretFile" -}}
- name: {{ .setting }}_FILE
  value: /run/secrets/router/{{ .key }}
{{- end -}}

{{/* What every process is told, but for what is its own. The values' schema refuses a name in `settings` that is set here. */}}
{{- define "router.environment" -}}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $setting, $key := .Values.secret.keys }}
{{ include "router.secretFile" (dict "setting" $setting "key" $key) }}
{{- end }}
{{- $secret := .Values.secret.name }}
{{- range $name, $key := .Values.secret.variables }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ $key }}}}
{{- end }}
{{- range $name, $files := .Values.files }}
- name: {{ $files.setting }}
  value: /house/{{ $name }}{{ with $files.file }}/{{ . }}{{ end }}
{{- end }}
- name: ROUTER_DATA
  value: /data
- name: ROUTER_METRICS_HOST
  value: 0.0.0.0
- name: ROUTER_METRICS_PORT
  value: "9464"
- name: ROUTER_TEMPORAL_METRICS_PORT
  value: "9465"
{{- with .Values.temporal }}
- name: ROUTER_TEMPORAL_ADDRESS
  value: {{ .address | quote }}
- name: ROUTER_TEMPORAL_NAMESPACE
  value: {{ .namespace | quote }}
{{- with .ui }}
- name: ROUTER_TEMPORAL_UI
  value: {{ . | quote }}
{{- end }}
{{- if .tls }}
- name: ROUTER_TEMPORAL_TLS
  value: "true"
{{- end }}
{{- with .serverName }}
- name: ROUTER_TEMPORAL_TLS_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- if .authority.secret }}
- name: ROUTER_TEMPORAL_TLS_CA
  value: /run/secrets/temporal-authority/{{ .authority.key }}
{{- end }}
{{- if .apiKey.secret }}
- name: ROUTER_TEMPORAL_API_KEY_FILE
  value: /run/secrets/temporal-key/{{ .apiKey.key }}
{{- end }}
{{- if .certificate.secret }}
- name: ROUTER_TEMPORAL_TLS_CERT
  value: /run/secrets/temporal-certificate/tls.crt
- name: ROUTER_TEMPORAL_TLS_KEY_FILE
  value: /run/secrets/temporal-certificate/tls.key
{{- end }}
# The same for Temporal's own command, which is in the image.
- name: TEMPORAL_ADDRESS
  value: {{ .address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .namespace | quote }}
{{- if or .tls .serverName .authority.secret .apiKey.secret .certificate.secret }}
- name: TEMPORAL_TLS
  value: "true"
{{- end }}
{{- with .serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- if .authority.secret }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /run/secrets/temporal-authority/{{ .authority.key }}
{{- end }}
{{- if .certificate.secret }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /run/secrets/temporal-certificate/tls.crt
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /run/secrets/temporal-certificate/tls.key
{{- end }}
{{- end }}
{{- end -}}

{{- define "router.mounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
- {name: secrets, mountPath: /run/secrets/router, readOnly: true}
{{- with .Values.temporal }}
{{- if .authority.secret }}
- {name: temporal-authority, mountPath: /run/secrets/temporal-authority, readOnly: true}
{{- end }}
{{- if .apiKey.secret }}
- {name: temporal-key, mountPath: /run/secrets/temporal-key, readOnly: true}
{{- end }}
{{- if .certificate.secret }}
- {name: temporal-certificate, mountPath: /run/secrets/temporal-certificate, readOnly: true}
{{- end }}
{{- end }}
{{- range $name, $_ := .Values.files }}
- {name: {{ printf "house-%s" $name }}, mountPath: /house/{{ $name }}, readOnly: true}
{{- end }}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "router.volumes" -}}
{{- $name := include "router.name" . -}}
# What can be computed again, and what was under way: it outlives the container, not the pod.
- name: data
  emptyDir: {sizeLimit: 1Gi}
# Where papers are taken apart.
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
- name: secrets
  secret:
    secretName: {{ .Values.secret.name }}
    defaultMode: 0440
    items:
{{- range .Values.secret.keys | values | uniq | sortAlpha }}
      - {key: {{ . }}, path: {{ . }}}
{{- end }}
{{- with .Values.temporal }}
{{- if .authority.secret }}
- name: temporal-authority
  secret: {secretName: {{ .authority.secret }}, defaultMode: 0440}
{{- end }}
{{- if .apiKey.secret }}
- name: temporal-key
  secret: {secretName: {{ .apiKey.secret }}, defaultMode: 0440}
{{- end }}
{{- if .certificate.secret }}
- name: temporal-certificate
  secret: {secretName: {{ .certificate.secret }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- range $folder, $files := .Values.files }}
- name: house-{{ $folder }}
  configMap:
    name: {{ $files.configMap | default (printf "%s-%s" $name $folder) }}
{{- with $files.content }}
    items:
{{- range $path, $_ := . }}
      - {key: {{ $path | replace "/" "__" | quote }}, path: {{ $path | quote }}}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What a pod of API or worker is, around its container. */}}
{{- define "router.pod" -}}
{{- $root := .root -}}
serviceAccountName: {{ include "router.account" $root }}
automountServiceAccountToken: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext: {{ include "router.podSecurity" $root | nindent 2 }}
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ toYaml $.labels | nindent 8 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
volumes: {{ include "router.volumes" $root | nindent 2 }}
{{- end -}}

{{/* Annotations of pods: a change of the chart's own files starts them anew. */}}
{{- define "router.annotations" -}}
intent-router/files: {{ toJson .Values.files | sha256sum | trunc 16 | quote }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}
