//! What the policies for people allow is what the commands ask for: each is run against an account that answers little and
//! remembers what it was asked.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::job::ReviewReason;
use hookbox_core::key::JobKey;
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::transition::review::review;
use hookbox_ledger::test_support::TestTable;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::hookbox::binary;
use crate::local_aws::http;
use crate::stage::now;
use crate::template::{properties, template};

/// Actions that no policy gives: a person who may read secrets is another person.
const NOT_FOR_PEOPLE: [&str; 1] = ["ssm:GetParameter"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policies_for_people_allow_what_the_commands_ask_for_and_nothing_else() {
    let account = Account::start().await;
    let receipts =
        [account.in_review("evt_1").await, account.in_review("evt_2").await, account.in_review("evt_3").await];
    let [first, second, _] = receipts.map(|key| key.to_string());
    let receipt = first.split(':').next().expect("a receipt").to_owned();
    let connection = ["--provider", "stripe", "--account", "demo"];
    let looks: [&[&str]; 14] = [
        &["receipts", "list", "--since", "1h"],
        &["receipts", "show", &receipt],
        &["receipts", "timeline", "--provider", "stripe", "--account", "demo", "--resource", "pi_1"],
        &["jobs", "list", "--since", "1h"],
        &["jobs", "show", &first],
        &["failed"],
        &["dlq", "list"],
        &["dlq", "show", &first],
        &["pauses", "list"],
        &["stats", "--since", "1h"],
        &["tail", "--since", "1h"],
        &["export", "--since", "1h", "--payloads"],
        &["cleanup"],
        &["doctor", "--stack", "hookbox"],
    ];
    for look in looks {
        account.run(look);
    }
    assert_eq!(account.take(), allowed("OperatorPolicy"));

    let operation = ["--operation", "deliver"];
    let because = ["--reason", "x", "--yes"];
    let decisions: [Vec<&str>; 7] = [
        [&["replay", &first][..], &because].concat(),
        [&["dismiss", &second][..], &because].concat(),
        [&["replay", "--since", "1h"][..], &because].concat(),
        [&["pause"][..], &connection, &operation, &because].concat(),
        [&["resume"][..], &connection, &operation, &because].concat(),
        vec!["dlq", "drain", "--poison", "--yes"],
        vec!["doctor", "--stack", "hookbox"],
    ];
    for decision in decisions {
        account.run(&decision);
    }
    let mut allowed = allowed("ResponderPolicy");
    let looked: BTreeSet<_> = self::allowed("OperatorPolicy");
    assert!(allowed.is_superset(&looked), "who decides looks first");
    let asked = account.take();
    assert!(asked.is_subset(&allowed), "not allowed: {:?}", asked.difference(&allowed).collect::<Vec<_>>());
    allowed.retain(|action| !looked.contains(action));
    assert!(allowed.is_subset(&asked), "nothing asks for {:?}", allowed.difference(&asked).collect::<Vec<_>>());
}

#[test]
fn the_policies_for_people_name_what_they_are_about() {
    let template = template();
    let resources = template["Resources"].as_object().expect("resources");
    let policies: Vec<_> = resources.iter().filter(|(_, one)| one["Type"] == "AWS::IAM::ManagedPolicy").collect();
    assert_eq!(policies.len(), 2);
    for (name, policy) in policies {
        for statement in policy["Properties"]["PolicyDocument"]["Statement"].as_array().expect("statements") {
            let actions = statement["Action"].to_string();
            assert!(!actions.contains('*'), "{name}: {statement}");
            let any = statement["Resource"] == "*";
            assert_eq!(any, statement["Sid"] == "SeeWhatHasNoResource", "{name}: {statement}");
        }
    }
    let ends = properties("ResponderPolicy")["PolicyDocument"]["Statement"].as_array().expect("statements").clone();
    let deletes = ends.iter().find(|statement| statement["Action"] == "dynamodb:DeleteItem").expect("pauses end");
    assert_eq!(deletes["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"], json!(["integration#*"]));
}

/// What a policy of the template allows.
fn allowed(policy: &str) -> BTreeSet<String> {
    let document = &properties(policy)["PolicyDocument"];
    let statements = document["Statement"].as_array().expect("statements").iter();
    let actions = statements.flat_map(|statement| match &statement["Action"] {
        Value::Array(actions) => actions.clone(),
        one => vec![one.clone()],
    });
    actions.map(|action| action.as_str().expect("an action").to_owned()).collect()
}

/// An account with a table and with nothing else.
struct Account {
    url: String,
    table: TestTable,
    shared: Arc<Shared>,
}

struct Shared {
    dynamodb: String,
    asked: Mutex<BTreeSet<String>>,
}

impl Account {
    async fn start() -> Self {
        let table = TestTable::start().await;
        let dynamodb = table.config().endpoint_url().expect("a loopback port").to_owned();
        let shared = Arc::new(Shared { dynamodb, asked: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let account = Self { url, table, shared };
        let integration = integration();
        account.table.ledger().put_integration(&integration, None).await.expect("written");
        account
    }

    /// What was asked for since the last time.
    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.shared.asked.lock().expect("not poisoned"))
    }

    /// Runs a command here. What it comes to does not matter, as long as it has not been used wrongly.
    fn run(&self, arguments: &[&str]) {
        let mut command = std::process::Command::new(binary());
        command.args(arguments).stdin(Stdio::null()).env_clear().envs([
            ("AWS_ENDPOINT_URL", self.url.as_str()),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_REGION", "eu-west-1"),
            ("HOOKBOX_TABLE", self.table.name()),
            ("HOOKBOX_DEAD_LETTER_QUEUE_URL", &format!("{}/1/dead", self.url)),
            ("HOOKBOX_WORKER_LOG_GROUP", "/hookbox/hookbox/worker"),
        ]);
        let output = command.output().expect("target/debug/hookbox runs");
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "hookbox {arguments:?}: {complained}");
    }

    /// A job in review.
    async fn in_review(&self, event_id: &str) -> JobKey {
        let ledger = self.table.ledger();
        let event = event(event_id);
        let arrival =
            Arrival { at: now(), digest: Digest::of(b"first"), secret_index: 0, request_id: "req-1".to_owned() };
        let folder = Folder::open(&event, &integration(), arrival, None);
        ledger.ingest(&folder, &event.payload, now().plus(std::time::Duration::from_secs(5))).await.expect("committed");
        let loaded = ledger.load(&folder.receipt.id).await.expect("readable").expect("a folder");
        let [job] = loaded.jobs.as_slice() else { panic!("one job") };
        let reviewed = review(job, ReviewReason::Permanent, "refused", now()).expect("it is pending");
        ledger.write_job(&loaded, job, &reviewed).await.expect("written");
        job.key.clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let (service, operation) = target.split_once('.').unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let path = uri.path();
    match service {
        "DynamoDB_20120810" => {
            shared.ask_for(&of_table(operation, &body));
            return forward(&shared.dynamodb, &headers, body.clone()).await;
        }
        "AmazonSQS" => shared.ask_for(&[format!("sqs:{operation}")]),
        "Logs_20140328" => shared.ask_for(&[format!("logs:{operation}")]),
        "AmazonSSM" => shared.ask_for(&[format!("ssm:{operation}")]),
        _ => {}
    }
    let json = |value: Value| (StatusCode::OK, [("content-type", "application/x-amz-json-1.0")], value.to_string());
    match operation {
        // A message that is none of ours, which is poison.
        "ReceiveMessage" => json(json!({"Messages": [{"MessageId": "m", "ReceiptHandle": "h", "Body": "poison"}]})),
        "FilterLogEvents" => json(json!({"events": []})),
        "GetQueueAttributes" => json(json!({"Attributes": {
            "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
            "ApproximateNumberOfMessagesDelayed": "0",
        }})),
        "GetParameter" => {
            return (StatusCode::BAD_REQUEST, json!({"__type": "ParameterNotFound"}).to_string()).into_response();
        }
        "" if text.starts_with("Action=") => return query(&shared, &text),
        "" => return by_path(&shared, path),
        _ => json(json!({})),
    }
    .into_response()
}

/// A transaction takes the permissions of its parts.
fn of_table(operation: &str, body: &Bytes) -> Vec<String> {
    if operation != "TransactWriteItems" {
        return vec![format!("dynamodb:{operation}")];
    }
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let parts = body["TransactItems"].as_array().expect("parts").iter();
    let parts = parts.flat_map(|part| part.as_object().expect("a part").keys().cloned().collect::<Vec<_>>());
    let action = |part: String| match part.as_str() {
        "ConditionCheck" => "dynamodb:ConditionCheckItem".to_owned(),
        part => format!("dynamodb:{part}Item"),
    };
    parts.map(action).collect()
}

async fn forward(dynamodb: &str, headers: &HeaderMap, body: Bytes) -> Response {
    let mut request = http().post(dynamodb).body(body);
    for name in ["x-amz-target", "content-type", "authorization", "x-amz-date"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value.clone());
        }
    }
    let answer = request.send().await.expect("the table answers");
    let status = answer.status();
    let headers = [("content-type", "application/x-amz-json-1.0")];
    (status, headers, answer.bytes().await.expect("a body")).into_response()
}

/// The services that speak XML. Who one is, one may always ask.
fn query(shared: &Shared, text: &str) -> Response {
    let operation = text.trim_start_matches("Action=").split('&').next().unwrap_or_default();
    let xml = |text: String| (StatusCode::OK, [("content-type", "text/xml")], text).into_response();
    if operation == "GetCallerIdentity" {
        let who = "<Arn>arn:aws:iam::1:user/jane</Arn><UserId>1</UserId><Account>1</Account>";
        return xml(format!("<{operation}Response><{operation}Result>{who}</{operation}Result></{operation}Response>"));
    }
    shared.ask_for(&[format!("cloudformation:{operation}")]);
    let time = "2026-11-30T08:00:00Z";
    let content = if operation == "DescribeStacks" {
        let one = format!("<StackName>hookbox</StackName><CreationTime>{time}</CreationTime>");
        format!("<Stacks><member>{one}<StackStatus>CREATE_COMPLETE</StackStatus></member></Stacks>")
    } else {
        let template = template();
        let deployed = template["Resources"].as_object().expect("resources").keys().cloned();
        // What SAM makes besides.
        let deployed = deployed.chain(["SweeperFunctionEveryMinute".to_owned()]);
        let one = |name: String| {
            let physical = if name == "Table" { "hookbox".to_owned() } else { name.clone() };
            let physical = if name.ends_with("Queue") { format!("http://sqs.invalid/1/{name}") } else { physical };
            format!(
                "<member><LogicalResourceId>{name}</LogicalResourceId><PhysicalResourceId>{physical}\
                 </PhysicalResourceId><ResourceType>x</ResourceType><Timestamp>{time}</Timestamp>\
                 <ResourceStatus>x</ResourceStatus></member>"
            )
        };
        format!("<StackResources>{}</StackResources>", deployed.map(one).collect::<String>())
    };
    xml(format!("<{operation}Response><{operation}Result>{content}</{operation}Result></{operation}Response>"))
}

/// The services that have an address for each operation.
fn by_path(shared: &Shared, path: &str) -> Response {
    if let Some((_, operation)) = path.split_once("/service/GraniteServiceVersion20100801/operation/") {
        shared.ask_for(&[format!("cloudwatch:{operation}")]);
        let headers = [("content-type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor")];
        // {}
        return (StatusCode::OK, headers, b"\xa0".as_slice()).into_response();
    }
    let action = match path {
        path if path.contains("/event-source-mappings") => "lambda:ListEventSourceMappings",
        path if path.ends_with("/configuration") => "lambda:GetFunctionConfiguration",
        path if path.starts_with("/schedules/") => "scheduler:GetSchedule",
        other => panic!("what is {other}?"),
    };
    shared.ask_for(&[action.to_owned()]);
    (StatusCode::OK, [("content-type", "application/json")], "{}").into_response()
}

impl Shared {
    fn ask_for(&self, actions: &[String]) {
        let actions = actions.iter().filter(|action| !NOT_FOR_PEOPLE.contains(&action.as_str())).cloned();
        self.asked.lock().expect("not poisoned").extend(actions);
    }
}

fn integration() -> Integration {
    let target = Target::Http {
        url: "https://destination.example/hook".to_owned(),
        signing_secret: SecretRef::Ssm("/hookbox/signing".to_owned()),
        not_done_statuses: Vec::new(),
    };
    Integration {
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        url: None,
        rev: 1,
        secrets: vec![SecretRef::Ssm("/hookbox/stripe".to_owned())],
        variant: None,
        verify: None,
        tenants: Vec::new(),
        operations: vec![Operation::new("deliver".parse().unwrap(), Idempotency::key(), target)],
        retention: Retention::default(),
    }
}

fn event(id: &str) -> Event {
    Event {
        identity: Identity::ProviderEvent { event_id: id.to_owned() },
        weak: None,
        event_id: Some(id.to_owned()),
        kind: "payment_intent.succeeded".to_owned(),
        resource: Some("pi_1".to_owned()),
        tenant: None,
        occurred_at: Some(now()),
        version: None,
        disposition: Disposition::Accepted,
        digest: Digest::of(id.as_bytes()),
        payload: Payload { body: b"{}".to_vec(), content_type: None, headers: Vec::new(), query: None },
    }
}
