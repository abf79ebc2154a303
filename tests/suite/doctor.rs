//! `hookbox doctor` and `hookbox rehearse` on the real template and the real binaries.

use serde_json::{Value, json};

use crate::hookbox::{ended, hookbox};
use crate::local_aws::LocalAws;
use crate::stage::{SECRET, SECRET_NAME, SIGNING_NAME, Stage};

/// Whatever is not `ok`: check, level and what it was found of.
type Said = Vec<(String, String, String)>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_broken_is_found_and_what_was_not_is_not() {
    let stage = Stage::set(LocalAws::start("e2e-doctor"));
    // Its schedule would have called it within the minute.
    let sweeper = json!({"FunctionName": stage.aws.value("HOOKBOX_SWEEPER_FUNCTION"), "Payload": "{}"});
    stage.aws.call("lambda", "invoke", &sweeper);

    let healthy = examined(&stage, 3);
    let known = [
        // The local AWS does not say whether an index is ACTIVE.
        ("index", "could-not-look"),
        ("index", "could-not-look"),
        ("index", "could-not-look"),
        // Nor does it answer in the form in which it was asked about them.
        ("alarms", "could-not-look"),
    ];
    let names: Vec<_> = healthy.iter().map(|(check, level, _)| (check.as_str(), level.as_str())).collect();
    assert_eq!(names, known, "{healthy:?}");

    for broken in BROKEN {
        (broken.spoil)(&stage);
        let said = examined(&stage, broken.code);
        (broken.mend)(&stage);
        let new: Vec<_> = said.iter().filter(|one| !healthy.contains(one)).collect();
        let [(check, level, resource)] = new.as_slice() else { panic!("{}: {new:?}", broken.check) };
        assert_eq!((check.as_str(), level.as_str()), (broken.check, broken.level), "{resource}");
        assert!(healthy.iter().all(|one| said.contains(one)), "nothing is hidden: {said:?}");
    }
    assert_eq!(examined(&stage, 3), healthy, "all is mended");
    rehearsed(&stage);
}

/// One thing that is taken away from a deployment, and put back.
struct Broken {
    check: &'static str,
    level: &'static str,
    code: i32,
    spoil: fn(&Stage),
    mend: fn(&Stage),
}

const BROKEN: [Broken; 6] = [
    Broken {
        check: "time-to-live",
        level: "problem",
        code: 1,
        spoil: |stage| expires(stage, false),
        mend: |stage| expires(stage, true),
    },
    Broken {
        check: "event-source",
        level: "problem",
        code: 1,
        spoil: |stage| stage.aws.set_event_source("HOOKBOX_DISPATCHER_FUNCTION", false),
        mend: |stage| stage.aws.set_event_source("HOOKBOX_DISPATCHER_FUNCTION", true),
    },
    Broken {
        check: "redrive",
        level: "problem",
        code: 1,
        spoil: |stage| redrive(stage, ""),
        mend: |stage| {
            let asked =
                json!({"QueueUrl": stage.aws.value("HOOKBOX_DEAD_LETTER_QUEUE_URL"), "AttributeNames": ["QueueArn"]});
            let target = stage.aws.call("sqs", "get_queue_attributes", &asked)["Attributes"]["QueueArn"].take();
            redrive(stage, &json!({"deadLetterTargetArn": target, "maxReceiveCount": 5}).to_string());
        },
    },
    Broken {
        check: "visibility",
        level: "problem",
        code: 1,
        spoil: |stage| stage.aws.set_visibility(359),
        mend: |stage| stage.aws.set_visibility(360),
    },
    Broken {
        check: "secrets",
        level: "problem",
        code: 1,
        spoil: |stage| drop(stage.aws.call("ssm", "delete_parameter", &json!({"Name": SECRET_NAME}))),
        mend: |stage| stage.aws.secret(SECRET_NAME, SECRET),
    },
    // While nothing is held, nothing is late.
    Broken {
        check: "pauses",
        level: "warning",
        code: 3,
        spoil: |stage| decide(stage, &["pause", "--reason", "maintenance"]),
        mend: |stage| decide(stage, &["resume"]),
    },
];

fn examined(stage: &Stage, expected: i32) -> Said {
    let (code, report, complained) = ended(&stage.aws, &["doctor"]);
    assert_eq!(code, expected, "{report} {complained}");
    assert!(!report.to_string().contains(SECRET), "no secret is shown");
    let findings = report["findings"].as_array().expect("findings").clone();
    assert!(findings.len() > 40, "everything is looked at: {}", findings.len());
    let text = |finding: &Value, name: &str| finding[name].as_str().expect("a text").to_owned();
    let said = findings.iter().filter(|finding| finding["level"] != "ok");
    said.map(|finding| (text(finding, "check"), text(finding, "level"), text(finding, "resource"))).collect()
}

fn expires(stage: &Stage, enabled: bool) {
    let expires = json!({"Enabled": enabled, "AttributeName": "expires_at"});
    let set = json!({"TableName": stage.aws.value("HOOKBOX_TABLE"), "TimeToLiveSpecification": expires});
    stage.aws.call("dynamodb", "update_time_to_live", &set);
}

fn redrive(stage: &Stage, policy: &str) {
    let set = json!({"QueueUrl": stage.aws.value("HOOKBOX_WORK_QUEUE_URL"), "Attributes": {"RedrivePolicy": policy}});
    stage.aws.call("sqs", "set_queue_attributes", &set);
}

fn decide(stage: &Stage, what: &[&str]) {
    let operation = ["--provider", "stripe", "--account", "ok", "--operation", "deliver", "--yes"];
    assert_eq!(hookbox(&stage.aws, &[what, &operation].concat()).0, 0);
}

/// Every case, with a sandbox that verifies; and no integration that serves anything else.
fn rehearsed(stage: &Stage) {
    let rehearse = ["rehearse", "--yes", "--by", "the test"];
    let (code, _, why) = ended(&stage.aws, &[&rehearse[..], &["--provider", "stripe", "--account", "ok"]].concat());
    assert!(code == 1 && why.contains("it is not marked for rehearsals"), "{code}: {why}");

    let (provider, signing) = (format!("ssm:{SECRET_NAME}"), format!("ssm:{SIGNING_NAME}"));
    let config = ["rehearse", "config", &stage.sandbox.url, "--secret", &provider, "--signing-secret", &signing];
    let printed = crate::hookbox::printed(&stage.aws, &config);
    let file = stage.aws.directory().join("rehearsal.toml");
    std::fs::write(&file, printed).expect("written");
    assert_eq!(hookbox(&stage.aws, &["apply", file.to_str().expect("a path"), "--yes"]).0, 0);

    let (code, report, complained) = ended(&stage.aws, &rehearse);
    let cases = report["cases"].as_array().cloned().unwrap_or_default();
    let others: Vec<_> = cases.iter().filter(|case| case["result"] != "ok").collect();
    assert!(others.is_empty(), "{others:?} {complained}");
    assert_eq!((code, cases.len()), (0, 13), "{complained}");
    let (_, failed) = hookbox(&stage.aws, &["failed"]);
    assert_eq!(failed["jobs"], json!([]), "a rehearsal gives nobody work");
    let (_, pauses) = hookbox(&stage.aws, &["pauses", "list"]);
    assert_eq!(pauses["pauses"], json!([]), "and leaves nothing paused");
}
