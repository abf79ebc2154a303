//! Reading: what is denied names its IAM action, and hides nothing else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};

use super::*;
use crate::failure::Failure;

/// An account in which nothing may be looked at but the stack, where `stack` says so.
#[derive(Clone)]
struct Account {
    stack: Stack,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stack {
    Seen,
    Missing,
    Denied,
}

impl Account {
    /// Its endpoint.
    async fn start(stack: Stack) -> (Self, Aws) {
        let account = Self { stack, asked: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(account.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let config = hookbox_ledger::test_support::TestTable::start().await.config();
        (account, Aws::of(config.into_builder().endpoint_url(&endpoint).build(), Some(endpoint)))
    }
}

async fn answer(State(account): State<Account>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8_lossy(&body);
    let target = headers.get("x-amz-target").map(|target| target.to_str().unwrap());
    account.asked.lock().unwrap().push(target.map_or_else(|| format!("{uri} {body}"), str::to_owned));
    let xml = |status: StatusCode, text: String| (status, [("content-type", "text/xml")], text).into_response();
    let query = |code: &str, message: &str| {
        let error = format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>");
        format!("<ErrorResponse>{error}<RequestId>1</RequestId></ErrorResponse>")
    };
    if body.starts_with("Action=") {
        return match account.stack {
            _ if body.starts_with("Action=GetCallerIdentity") => xml(
                StatusCode::OK,
                "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::1:user/jane</Arn>\
                 </GetCallerIdentityResult></GetCallerIdentityResponse>"
                    .to_owned(),
            ),
            Stack::Denied => xml(StatusCode::FORBIDDEN, query("AccessDenied", "not authorized")),
            Stack::Missing => xml(StatusCode::BAD_REQUEST, query("ValidationError", "Stack with id x does not exist")),
            Stack::Seen => xml(StatusCode::OK, described(&body)),
        };
    }
    if headers.get("smithy-protocol").is_some_and(|protocol| protocol == "rpc-v2-cbor") {
        // {"__type": "AccessDenied"}
        let error = [b"\xa1\x66__type\x6cAccessDenied".as_slice()].concat();
        let headers = [("content-type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor")];
        return (StatusCode::FORBIDDEN, headers, error).into_response();
    }
    let error = r#"{"__type":"AccessDeniedException","message":"not authorized"}"#;
    (StatusCode::FORBIDDEN, [("x-amzn-errortype", "AccessDeniedException")], error).into_response()
}

/// The stack of [`stack`], as CloudFormation says it.
fn described(body: &str) -> String {
    let (result, members) = if body.starts_with("Action=DescribeStacks") {
        let one = "<StackName>hookbox</StackName><CreationTime>2026-11-30T08:00:00Z</CreationTime>";
        let one = format!("<member>{one}<StackStatus>CREATE_COMPLETE</StackStatus></member>");
        ("DescribeStacks", format!("<Stacks>{one}</Stacks>"))
    } else {
        let one = |(logical, physical): (&String, &String)| {
            format!(
                "<member><LogicalResourceId>{logical}</LogicalResourceId>\
                 <PhysicalResourceId>{physical}</PhysicalResourceId><ResourceType>x</ResourceType>\
                 <Timestamp>2026-11-30T08:00:00Z</Timestamp><ResourceStatus>x</ResourceStatus></member>"
            )
        };
        let all: String = stack().resources.iter().map(one).collect();
        ("DescribeStackResources", format!("<StackResources>{all}</StackResources>"))
    };
    format!("<{result}Response><{result}Result>{members}</{result}Result></{result}Response>")
}

fn args(words: &[&str]) -> DoctorArgs {
    let command = <DoctorArgs as clap::Args>::augment_args(clap::Command::new("doctor"));
    let matches = command.try_get_matches_from(["doctor"].iter().chain(words)).unwrap();
    <DoctorArgs as clap::FromArgMatches>::from_arg_matches(&matches).unwrap()
}

async fn examined(stack: Stack, words: &[&str]) -> Result<Examination, Failure> {
    let (_, aws) = Account::start(stack).await;
    Examination::make(&args(words), &aws, Arc::new(hookbox_runtime::SystemClock)).await
}

fn denied(examination: &Examination) -> BTreeSet<String> {
    let findings = examination.report().findings;
    let unseen = findings.iter().filter(|finding| finding.level == Level::CouldNotLook);
    unseen
        .flat_map(|finding| &finding.advice)
        .filter_map(|advice| advice.strip_prefix("a role that allows ")?.split(' ').next())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn what_may_not_be_seen_names_its_iam_action_and_hides_nothing() {
    let examination = examined(Stack::Seen, &[]).await.unwrap();
    let expected = [
        "cloudwatch:DescribeAlarms",
        "dynamodb:DescribeContinuousBackups",
        "dynamodb:DescribeTable",
        "dynamodb:DescribeTimeToLive",
        "dynamodb:Query",
        "lambda:GetFunctionConfiguration",
        "lambda:ListEventSourceMappings",
        "logs:FilterLogEvents",
        "scheduler:GetSchedule",
        "sqs:GetQueueAttributes",
    ];
    assert_eq!(denied(&examination), expected.map(str::to_owned).into());
    let report = examination.report();
    assert_eq!(report.answer().unwrap_err().code(), 3);
    let level = |check: &str| report.findings.iter().find(|finding| finding.check == check).map(|found| found.level);
    assert_eq!((level("stack"), level("caller")), (Some(Level::Ok), Some(Level::Ok)), "what was seen is said");
    let problems: Vec<_> = report.findings.iter().filter(|finding| finding.level == Level::Problem).collect();
    assert!(problems.is_empty(), "nothing is known to be wrong: {problems:?}");
}

#[tokio::test]
async fn without_the_stack_what_the_command_line_names_is_looked_at() {
    let unknown = examined(Stack::Denied, &[]).await.unwrap();
    assert_eq!(
        denied(&unknown),
        ["cloudformation:DescribeStacks", "cloudwatch:DescribeAlarms"].map(str::to_owned).into()
    );
    let named = examined(Stack::Denied, &["--table", "t", "--work-queue-url", &url("WorkQueue")]).await.unwrap();
    assert!(denied(&named).contains("dynamodb:DescribeTable") && denied(&named).contains("sqs:GetQueueAttributes"));
    let findings = named.report().findings;
    let function = findings.iter().find(|finding| finding.check == "function").unwrap();
    assert!(function.found.starts_with("which one it is is not known"), "{function:?}");
}

#[tokio::test]
async fn a_stack_that_is_not_there_is_said_before_anything_else() {
    let failure = examined(Stack::Missing, &["--stack", "hokbox"]).await.unwrap_err();
    assert_eq!(failure.code(), 3);
    let text = failure.to_string();
    assert!(text.starts_with("could not look at the stack `hokbox`") && text.contains("--stack"), "{text}");
    assert!(examined(Stack::Missing, &["--table", "t"]).await.is_ok(), "the table is looked at all the same");
}
