{{- define "router.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "router.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "router.labels" -}}
{{ include "router.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "router.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- include "router.name" . -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "router.keda" -}}
{{- if or .Values.temporal.apiKey.secret .Values.temporal.certificate.secret -}}
{{- include "router.name" . }}-temporal
{{- end -}}
{{- end -}}

{{/* The builds of the worker, as JSON: each with its name, tag and numbers. Without any, one without a version. */}}
{{- define "router.builds" -}}
{{- $worker := .Values.worker -}}
{{- $all := list -}}
{{- $names := dict -}}
{{- range $build := $worker.builds | default (list dict) -}}
{{- $version := $build.version | default "" -}}
{{- $suffix := $version | lower | replace "." "-" | replace "_" "-" | trunc 15 | trimSuffix "-" -}}
{{- $name := printf "%s-worker" (include "router.name" $) -}}
{{- if $version -}}
{{- $name = printf "%s-%s" $name $suffix -}}
{{- end -}}
{{- if hasKey $names $name -}}
{{- fail (printf "worker.builds: %s and %s would both be the Deployment %s: give them other names" (get $names $name) $version $name) -}}
{{- end -}}
{{- $_ := set $names $name $version -}}
{{- $tag := $build.tag | default ($version | default ($.Values.image.tag | default $.Chart.AppVersion)) -}}
{{- $scaling := mergeOverwrite (deepCopy $worker.autoscaling) ($build.autoscaling | default dict) -}}
{{- $replicas := $worker.replicas -}}
{{- if hasKey $build "replicas" -}}
{{- $replicas = $build.replicas -}}
{{- $_ := set $scaling "by" "none" -}}
{{- end -}}
{{- $all = append $all (dict "name" $name "version" $version "tag" $tag "replicas" $replicas "scaling" $scaling) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}
