{{/*
Labels of every object. The first is also that of kustomize.
*/}}
{{- define "drift.labels" -}}
app.kubernetes.io/part-of: drift-poller
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The objects of one of the shipped manifests in files/, for this namespace, without what belongs to an absent controller.
Takes the root, the file, and fields to merge into each object. The suffix is for cluster-wide objects, and for those in
other namespaces.
*/}}
{{- define "drift.objects" -}}
{{- $root := .root -}}
{{- $suffix := $root.Values.clusterNameSuffix -}}
{{- $text := $root.Files.Get .file | required (printf "the chart has no %s" .file) -}}
{{- range splitList "\n---\n" ($text | replace "drift-system" $root.Release.Namespace) }}
{{- $object := mergeOverwrite (fromYaml .) (deepCopy ($.fields | default dict)) }}
{{- if or $root.Values.controller.enabled (not (hasPrefix "drift-controller" $object.metadata.name)) }}
{{- if or (regexMatch "^(Cluster|ValidatingAdmission)" $object.kind) (ne $root.Release.Namespace (dig "metadata" "namespace" $root.Release.Namespace $object)) }}
{{- $_ := set $object.metadata "name" (print $object.metadata.name $suffix) }}
{{- end }}
{{- if and $object.roleRef (eq (dig "kind" "" ($object.roleRef | default dict)) "ClusterRole") }}
{{- $_ := set $object.roleRef "name" (print $object.roleRef.name $suffix) }}
{{- end }}
{{- if and $object.spec (hasKey ($object.spec | default dict) "policyName") }}
{{- $_ := set $object.spec "policyName" (print $object.spec.policyName $suffix) }}
{{- end }}
{{- if $object.subjects }}
{{- $subjects := list }}
{{- range $object.subjects }}
{{- if or $root.Values.controller.enabled (ne .name "drift-controller") }}
{{- $subjects = append $subjects . }}
{{- end }}
{{- end }}
{{- $_ := set $object "subjects" $subjects }}
{{- end }}
{{- if eq $object.kind "ServiceAccount" }}
{{- $program := index $root.Values (trimPrefix "drift-" $object.metadata.name) }}
{{- with $program.serviceAccount.annotations }}
{{- $_ := set $object.metadata "annotations" . }}
{{- end }}
{{- end }}
{{- $labels := merge (include "drift.labels" $root | fromYaml) ($object.metadata.labels | default dict) }}
{{- $_ := set $object.metadata "labels" $labels }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Namespace and labels of an object.
*/}}
{{- define "drift.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "drift.labels" . | nindent 2 }}
{{- end }}

{{/*
The selector of the Pods of both programs.
*/}}
{{- define "drift.programs" -}}
podSelector:
  matchExpressions:
  - {key: app.kubernetes.io/name, operator: In, values: [drift-poller, drift-controller]}
{{- end }}

{{/*
The reference of an image. Takes the root and the values of the image.
*/}}
{{- define "drift.image" -}}
{{- $root := first . -}}
{{- $image := last . -}}
{{- with $root.Values.images.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- $image.name -}}
{{- with $image.digest }}@{{ . }}{{ else }}:{{ $root.Values.images.tag | default $root.Chart.AppVersion }}{{ end -}}
{{- end }}
