use serde_json::json;

use crate::cel::Variables;
use crate::{Actions, Destination, JobTemplate, Target};

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Image}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h/x"}}
  compare: {desired: {a: "${self.spec.a}"}}
  correct:
    job:
      create:
        activeDeadlineSeconds: 300
        template:
          metadata: {labels: {app: tool}}
          spec:
            securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
            volumes: [{name: tmp, emptyDir: {}}]
            containers:
            - name: tool
              image: registry.example/tool:1
              command: [sh, -c, 'tool "$A" $${B}']
              args: ["${self.spec.a}", --fast]
              env:
              - {name: A, value: "${self.spec.a}"}
              - {name: B, value: "x $(A)"}
              - {name: C, valueFrom: {secretKeyRef: {name: own, key: token}}}
              securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

fn create(target: &Target) -> &JobTemplate {
    let Some(Destination::Job(job)) = &target.correct.destination else { panic!("no Job") };
    job.create.as_ref().unwrap()
}

#[test]
fn a_job_is_what_is_written_with_the_objects_values() {
    let target = parse(TARGET).unwrap();
    assert_eq!(target.correct.actions(), Actions { create: true, ..Actions::default() });
    let object = json!({"spec": {"a": "one"}});
    let rendered = create(&target).render(&Variables::of_object(&object)).unwrap();
    assert_eq!([&rendered["activeDeadlineSeconds"], &rendered["backoffLimit"]], [300, 0]);
    assert_eq!(rendered["ttlSecondsAfterFinished"], 3600);
    assert_eq!(rendered["template"]["metadata"]["labels"], json!({"app": "tool"}));
    let pod = &rendered["template"]["spec"];
    assert_eq!([&pod["automountServiceAccountToken"], &pod["restartPolicy"]], [&json!(false), &json!("Never")]);
    let container = &pod["containers"][0];
    assert_eq!(container["command"], json!(["sh", "-c", "tool \"$A\" ${B}"]));
    assert_eq!(container["args"], json!(["one", "--fast"]));
    assert_eq!(container["env"][1], json!({"name": "B", "value": "x $(A)"}), "the target's own words stand");
}

/// A value of an object stays one text, regardless of its meaning to a shell, the kubelet or YAML.
#[test]
fn a_hostile_object_fills_one_value() {
    let target = parse(TARGET).unwrap();
    let hostile = [
        ("$(C)", "$$(C)"),
        ("$$(C)", "$$$$(C)"),
        ("${self.spec.b}", "$${self.spec.b}"),
        ("a\"; tool --drop; \"", "a\"; tool --drop; \""),
        ("a\n- name: EVIL\n  value: b", "a\n- name: EVIL\n  value: b"),
        ("', privileged: true, x: '", "', privileged: true, x: '"),
        ("\u{0}\u{202e}", "\u{0}\u{202e}"),
    ];
    let harmless = json!({"spec": {"a": "x"}});
    let expected = create(&target).render(&Variables::of_object(&harmless)).unwrap();
    for (said, escaped) in hostile {
        let object = json!({"spec": {"a": said}});
        let mut rendered = create(&target).render(&Variables::of_object(&object)).unwrap();
        let container = &mut rendered["template"]["spec"]["containers"][0];
        for place in ["/args/0", "/env/0/value"] {
            let value = container.pointer_mut(place).unwrap();
            assert_eq!(*value, json!(escaped), "{said:?}");
            *value = json!("x");
        }
        assert_eq!(rendered, expected, "{said:?} changes something else");
    }
    for other in [json!(["a"]), json!({"a": 1}), json!(null)] {
        let object = json!({"spec": {"a": other}});
        assert!(create(&target).render(&Variables::of_object(&object)).is_err(), "{object}");
    }
}

/// Edits of the target (from, to), and the resulting errors.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("        activeDeadlineSeconds: 300\n", "", "11:7 correct.job.create.activeDeadlineSeconds is missing"),
    (
        "activeDeadlineSeconds: 300",
        "activeDeadlineSeconds: 90000",
        "12:32 correct.job.create.activeDeadlineSeconds: a whole number from 1 to 86400 is needed",
    ),
    (
        "activeDeadlineSeconds: 300",
        "activeDeadlineSeconds: 300\n        backoffLimit: 11",
        "13:23 correct.job.create.backoffLimit: a whole number from 0 to 10 is needed",
    ),
    (
        "activeDeadlineSeconds: 300",
        "activeDeadlineSeconds: 300\n        ttlSecondsAfterFinished: 599",
        "13:34 correct.job.create.ttlSecondsAfterFinished: a whole number from 600 to 604800 is needed",
    ),
    (
        "activeDeadlineSeconds: 300",
        "activeDeadlineSeconds: 300\n        parallelism: 3",
        "13:9 unknown key `parallelism` in correct.job.create; known: activeDeadlineSeconds, backoffLimit, ttlSecondsAfterFinished, template",
    ),
    (
        "registry.example/tool:1",
        "\"registry.example/tool:${self.spec.a}\"",
        "20:22 correct.job.create.template.spec.containers[0].image: in a Job ${…} stands only as a whole env[].value or args[] entry",
    ),
    (
        "'tool \"$A\" $${B}'",
        "'tool ${self.spec.a}'",
        "21:33 correct.job.create.template.spec.containers[0].command[2]: in a Job ${…} stands only as a whole env[].value or args[] entry",
    ),
    (
        "--fast",
        "\"--name=${self.spec.a}\"",
        "22:40 correct.job.create.template.spec.containers[0].args[1]: in a Job ${…} stands only as a whole env[].value or args[] entry",
    ),
    (
        "{name: B, value: \"x $(A)\"}",
        "{name: \"${self.spec.a}\", value: b}",
        "25:24 correct.job.create.template.spec.containers[0].env[1].name: in a Job ${…} stands only as a whole env[].value or args[] entry",
    ),
    (
        "{name: own, key: token}",
        "{name: \"${self.spec.a}\", key: token}",
        "26:60 correct.job.create.template.spec.containers[0].env[2].valueFrom.secretKeyRef.name: in a Job ${…} stands only as a whole env[].value or args[] entry",
    ),
    (
        "value: \"${self.spec.a}\"",
        "value: \"${response.status}\"",
        "24:37 correct.job.create.template.spec.containers[0].env[0].value: `response` does not exist here; known: self, desired, differs, correction",
    ),
    (
        "value: \"${self.spec.a}\"",
        "value: 7",
        "24:34 correct.job.create.template.spec.containers[0].env[0].value: a text is needed here, not a number: put it in quotes",
    ),
    (
        "{app: tool}",
        "{driftpoller.dev/object: a}",
        "14:31 correct.job.create.template.metadata.labels.driftpoller.dev/object: labels of driftpoller.dev are the controller's",
    ),
    (
        "volumes: [{",
        "hostNetwork: true\n            volumes: [{",
        "17:13 unknown key `hostNetwork` in correct.job.create.template.spec; a Job of ours may have: affinity, automountServiceAccountToken, containers, dnsConfig, dnsPolicy, enableServiceLinks, hostAliases, imagePullSecrets, initContainers, nodeSelector, priorityClassName, restartPolicy, runtimeClassName, schedulerName, securityContext, serviceAccountName, terminationGracePeriodSeconds, tolerations, topologySpreadConstraints, volumes",
    ),
    (
        "emptyDir: {}",
        "hostPath: {path: /}",
        "17:35 unknown key `hostPath` in correct.job.create.template.spec.volumes[0]; a Job of ours may have: name, configMap, csi, downwardAPI, emptyDir, ephemeral, persistentVolumeClaim, projected, secret",
    ),
    (
        "emptyDir: {}",
        "projected: {sources: [{serviceAccountToken: {path: a}}]}",
        "17:79 correct.job.create.template.spec.volumes[0]: no token is mounted into a Job of ours",
    ),
    (
        "volumes: [{",
        "restartPolicy: Always\n            volumes: [{",
        "17:28 correct.job.create.template.spec.restartPolicy: Never (default) or OnFailure is needed",
    ),
    (
        "{runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}",
        "{runAsNonRoot: true, seLinuxOptions: {type: a}}",
        "16:51 unknown key `seLinuxOptions` in correct.job.create.template.spec.securityContext; a Job of ours may have: fsGroup, fsGroupChangePolicy, runAsGroup, runAsNonRoot, runAsUser, seccompProfile, supplementalGroups",
    ),
    (
        "{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}",
        "{privileged: true}",
        "27:33 unknown key `privileged` in correct.job.create.template.spec.containers[0].securityContext; a Job of ours may have: allowPrivilegeEscalation, capabilities, readOnlyRootFilesystem, runAsGroup, runAsNonRoot, runAsUser, seccompProfile",
    ),
    (
        "volumes: [{",
        "automountServiceAccountToken: true\n            volumes: [{",
        "17:43 correct.job.create.template.spec.automountServiceAccountToken: no token is mounted into a Job of ours",
    ),
    (
        "            containers:\n",
        "            initContainers: [{name: a, securityContext: {procMount: Unmasked}}]\n            containers:\n",
        "18:58 unknown key `procMount` in correct.job.create.template.spec.initContainers[0].securityContext; a Job of ours may have: allowPrivilegeEscalation, capabilities, readOnlyRootFilesystem, runAsGroup, runAsNonRoot, runAsUser, seccompProfile",
    ),
    (
        "            containers:\n",
        "            initContainers:\n",
        "16:13 correct.job.create.template.spec.containers: at least one is needed",
    ),
];

#[test]
fn every_mistake_in_a_job_is_told_with_its_place() {
    let mut wrong = Vec::new();
    for (old, new, expected) in MISTAKES {
        assert!(TARGET.contains(old), "{old}");
        let found = parse(&TARGET.replacen(old, new, 1)).map(drop).unwrap_err();
        if found != [*expected] {
            wrong.push(format!("{new}\n   found    {found:#?}\n   expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The namespace enforces its Pod Security Standard, so a target may be less strict than the restricted one.
#[test]
fn a_pod_may_break_the_restricted_standard() {
    let text = TARGET
        .replace("{runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}", "{runAsUser: 0}")
        .replace("{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}", "{capabilities: {add: [NET_RAW]}}");
    assert_eq!(parse(&text).map(drop), Ok(()));
}

#[test]
fn a_job_does_something() {
    let (head, _) = TARGET.split_once("    job:").unwrap();
    let empty = "10:10 correct.job: at least one of create, update, delete is needed";
    assert_eq!(parse(&format!("{head}    job: {{}}\n")).map(drop), Err(vec![empty.to_owned()]));
    let replacing =
        TARGET.replace("{desired: {a: \"${self.spec.a}\"}}", "{desired: {a: 1}, rules: [{path: /a, change: replace}]}");
    let refusal = "8:57 compare.rules[0].change: what a difference needs is for the Job of update to find out";
    assert_eq!(parse(&replacing).map(drop), Err(vec![refusal.to_owned()]));
}
