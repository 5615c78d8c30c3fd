{{- define "berth.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "berth.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berth.labels" -}}
{{ include "berth.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "berth.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "berth.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "berth.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "berth.secretName" -}}
{{- default (include "berth.fullname" .) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "berth.hasSecret" -}}
{{- if or .Values.secrets.existingSecret .Values.secrets.values -}}true{{- end -}}
{{- end -}}

{{- define "berth.settings" -}}
BERTH_BASE_URL: {{ .Values.baseUrl | quote }}
BERTH_DRAIN_DELAY: {{ printf "%ds" (int .Values.drainDelaySeconds) }}
BERTH_STOP_GRACE: {{ printf "%ds" (int .Values.stopGraceSeconds) }}
{{- with .Values.trustedProxies }}
BERTH_TRUSTED_PROXIES: {{ join "," . | quote }}
{{- end }}
{{- with .Values.blobs.s3 }}
{{- if .bucket }}
BERTH_BLOBS_S3_BUCKET: {{ .bucket | quote }}
{{- with .endpoint }}
BERTH_BLOBS_S3_ENDPOINT: {{ . | quote }}
{{- end }}
{{- with .region }}
BERTH_BLOBS_S3_REGION: {{ . | quote }}
{{- end }}
{{- with .prefix }}
BERTH_BLOBS_S3_PREFIX: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.tls.existingSecret }}
BERTH_TLS_CERT_FILE: /etc/berth/tls/tls.crt
BERTH_TLS_KEY_FILE: /etc/berth/tls/tls.key
{{- end }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "berth.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "berth.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "berth.isSeveralNodes" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}true{{- end -}}
{{- end -}}

{{/* Fails with what to change if the values cannot work together. */}}
{{- define "berth.validate" -}}
{{- $isShared := has "ReadWriteMany" .Values.persistence.accessModes -}}
{{- if include "berth.isSeveralNodes" . -}}
{{- if eq .Values.database.type "sqlite" -}}
{{- fail "SQLite is for one node: set database.type=postgres, or replicaCount=1 and autoscaling.enabled=false" -}}
{{- end -}}
{{- if and .Values.persistence.enabled (not $isShared) -}}
{{- fail "several nodes cannot share this volume: set persistence.enabled=false and blobs.s3.bucket, or persistence.accessModes=[ReadWriteMany]" -}}
{{- end -}}
{{- end -}}
{{- if not .Values.persistence.enabled -}}
{{- if eq .Values.database.type "sqlite" -}}
{{- fail "SQLite needs a volume: set persistence.enabled=true, or database.type=postgres" -}}
{{- end -}}
{{- if not .Values.blobs.s3.bucket -}}
{{- fail "images need a volume or a bucket: set persistence.enabled=true, or blobs.s3.bucket" -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.database.type "postgres" -}}
{{- if not (include "berth.hasSecret" .) -}}
{{- fail "PostgreSQL needs a secret with BERTH_DATABASE_URL and BERTH_MASTER_KEY: set secrets.existingSecret" -}}
{{- end -}}
{{- if not .Values.secrets.existingSecret -}}
{{- range list "BERTH_DATABASE_URL" "BERTH_MASTER_KEY" -}}
{{- if not (hasKey $.Values.secrets.values .) -}}
{{- fail (printf "PostgreSQL needs %s in secrets.values, or secrets.existingSecret" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.gateway.enabled .Values.tls.existingSecret -}}
{{- fail "the routes of the gateway reach pods without TLS: leave tls.existingSecret empty" -}}
{{- end -}}
{{- end -}}
