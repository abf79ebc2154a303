//! `template.yaml` says what the code relies on.

use std::collections::BTreeMap;

use hookbox_core::key::Shards;
use hookbox_core::limits;
use hookbox_ledger::table;
use hookbox_ops::doctor::expected;
use serde_json::Value;

pub(crate) fn template() -> Value {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../template.yaml")).expect("readable");
    // As CloudFormation reads it: `N` is DynamoDB's number, not a `no`.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(&text, options).expect("YAML")
}

pub(crate) fn properties(resource: &str) -> Value {
    template()["Resources"][resource]["Properties"].clone()
}

#[test]
fn the_table_is_the_one_that_the_ledger_defines() {
    let deployed = properties("Table");
    let keys = |of: &Value| -> Vec<String> {
        let schema = of["KeySchema"].as_array().expect("a key schema");
        schema.iter().map(|key| key["AttributeName"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(keys(&deployed), [table::TABLE.hash, table::TABLE.range]);
    assert_eq!(deployed["TimeToLiveSpecification"]["AttributeName"], table::TABLE.time_to_live);
    assert_eq!(deployed["StreamSpecification"]["StreamViewType"], table::TABLE.stream_view);
    assert_eq!(deployed["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true);

    let indexes = deployed["GlobalSecondaryIndexes"].as_array().expect("indexes");
    assert_eq!(indexes.len(), table::TABLE.indexes.len());
    for (index, defined) in indexes.iter().zip(table::TABLE.indexes) {
        assert_eq!(index["IndexName"], defined.name);
        assert_eq!(keys(index), [defined.hash, defined.range]);
        assert_eq!(index["Projection"]["NonKeyAttributes"], serde_json::json!(defined.include));
    }

    let types: BTreeMap<_, _> = deployed["AttributeDefinitions"]
        .as_array()
        .expect("attributes")
        .iter()
        .map(|attribute| (attribute["AttributeName"].as_str().expect("name"), attribute["AttributeType"].clone()))
        .collect();
    for defined in table::TABLE.indexes {
        assert_eq!((&types[defined.hash], &types[defined.range]), (&"S".into(), &"N".into()), "{}", defined.name);
    }
}

#[test]
fn timeouts_and_receives_are_those_that_the_code_counts_on() {
    assert_eq!(properties("WorkerFunction")["Timeout"], limits::WORKER_TIMEOUT.as_secs());
    assert_eq!(properties("WorkQueue")["VisibilityTimeout"], limits::WORK_QUEUE_VISIBILITY.as_secs());
    assert_eq!(properties("WorkQueue")["RedrivePolicy"]["maxReceiveCount"], limits::MAX_RECEIVES);
    assert!(properties("SweeperFunction")["Timeout"].as_u64().expect("seconds") < 60);
}

#[test]
fn the_stream_carries_pending_jobs_and_jobs_in_review_from_the_beginning() {
    let source = &properties("DispatcherFunction")["Events"]["Jobs"]["Properties"];
    assert_eq!(source["StartingPosition"], "TRIM_HORIZON");
    assert_eq!(source["FunctionResponseTypes"][0], "ReportBatchItemFailures");
    assert_eq!(source["BisectBatchOnFunctionError"], true);
    let pattern = source["FilterCriteria"]["Filters"][0]["Pattern"].as_str().expect("a pattern");
    let pattern: Value = serde_json::from_str(pattern).expect("JSON");
    assert_eq!(pattern["eventName"], serde_json::json!(["INSERT", "MODIFY"]));
    assert_eq!(pattern["dynamodb"]["NewImage"]["status"]["S"], serde_json::json!(["pending", "review"]));
    assert_eq!(pattern["dynamodb"]["Keys"]["sk"]["S"][0]["prefix"], "job#");
    assert_eq!(properties("Table")["StreamSpecification"]["StreamViewType"], "NEW_AND_OLD_IMAGES");
}

#[test]
fn the_queue_reports_single_messages() {
    let source = &properties("WorkerFunction")["Events"]["WakeUps"]["Properties"];
    assert_eq!(source["FunctionResponseTypes"][0], "ReportBatchItemFailures");
}

#[test]
fn the_schedule_never_retries() {
    let schedule = &properties("SweeperFunction")["Events"]["EveryMinute"]["Properties"];
    assert_eq!(schedule["ScheduleExpression"], "rate(1 minute)");
    assert_eq!(schedule["RetryPolicy"]["MaximumRetryAttempts"], 0);
}

/// `hookbox doctor` compares what is deployed with these.
#[test]
fn what_the_doctor_expects_is_what_the_template_deploys() {
    let source = &properties("DispatcherFunction")["Events"]["Jobs"]["Properties"];
    assert_eq!(source["FilterCriteria"]["Filters"][0]["Pattern"], expected::STREAM_FILTER);
    assert_eq!(source["MaximumRetryAttempts"], expected::STREAM_RETRIES);
    assert_eq!(source["MaximumRecordAgeInSeconds"], expected::STREAM_MAX_AGE.as_secs());
    assert!(
        source["DestinationConfig"]["OnFailure"]["Destination"].is_array() || !source["DestinationConfig"].is_null()
    );
    assert_eq!(
        properties("SweeperFunction")["Events"]["EveryMinute"]["Properties"]["ScheduleExpression"],
        expected::SWEEP_RATE
    );
    for queue in ["WorkQueue", "DeadLetterQueue", "StreamFailureQueue"] {
        assert_eq!(properties(queue)["MessageRetentionPeriod"], expected::QUEUE_RETENTION.as_secs(), "{queue}");
        assert_eq!(properties(queue)["SqsManagedSseEnabled"], true, "{queue}");
    }
    assert_eq!(properties("WorkQueue")["RedrivePolicy"]["maxReceiveCount"], limits::MAX_RECEIVES);
    assert_eq!(properties("WorkQueue")["VisibilityTimeout"], limits::WORK_QUEUE_VISIBILITY.as_secs());
    assert_eq!(properties("WorkerFunction")["Timeout"], limits::WORKER_TIMEOUT.as_secs());
    assert!(properties("SweeperFunction")["Timeout"].as_u64() < Some(60));
    let table = properties("Table");
    assert_eq!((&table["BillingMode"], &table["DeletionProtectionEnabled"]), (&"PAY_PER_REQUEST".into(), &true.into()));
    assert_eq!(template()["Outputs"]["Version"]["Value"], env!("CARGO_PKG_VERSION"));
    let global = &template()["Globals"]["Function"]["Environment"]["Variables"];
    for (function, names) in expected::VARIABLES {
        let resource = format!("{}{}Function", function[..1].to_uppercase(), &function[1..]);
        let own = &properties(&resource)["Environment"]["Variables"];
        for name in names {
            assert!(!global[name].is_null() || !own[name].is_null(), "{function} reads {name}");
        }
    }
}

/// Two stacks of one account would otherwise ask for one schedule.
#[test]
fn nothing_has_a_name_that_another_stack_would_have_too() {
    assert_eq!(properties("SweeperFunction")["Events"]["EveryMinute"]["Properties"]["OmitName"], true);
    let template = template();
    for (name, resource) in template["Resources"].as_object().expect("resources") {
        let properties = resource["Properties"].as_object().expect("properties");
        let names = properties.iter().filter(|(key, _)| {
            let named =
                ["Name", "LogGroupName", "QueueName", "TableName", "FunctionName", "RoleName", "ManagedPolicyName"];
            named.contains(&key.as_str()) && resource["Type"] != "AWS::Lambda::Permission"
        });
        for (key, value) in names {
            let value = value.to_string();
            assert!(value.contains("AWS::StackName"), "{name} has the {key} {value}");
        }
    }
}

#[test]
fn no_role_has_a_wildcard_action_or_resource() {
    let template = template();
    let resources = template["Resources"].as_object().expect("resources");
    let statements: Vec<&Value> = resources
        .values()
        .filter(|resource| resource["Type"] == "AWS::IAM::Role")
        .flat_map(|role| role["Properties"]["Policies"].as_array().expect("inline policies"))
        .flat_map(|policy| policy["PolicyDocument"]["Statement"].as_array().expect("statements"))
        .collect();
    assert!(statements.len() >= 10, "the roles were not found");
    for statement in statements {
        let actions = statement["Action"].to_string();
        assert!(!actions.contains('*'), "{statement}");
        assert!(!statement["Resource"].to_string().contains("\"*\""), "{statement}");
    }
}

/// The table's actions by function: those of the calls in `hookbox_ledger` that it makes. A transaction needs the
/// permissions of its parts. The local AWS enforces no roles, so this is written out.
#[test]
fn a_role_allows_the_table_calls_of_its_function_and_no_others() {
    let expected = [
        ("IngestRole", vec!["BatchGetItem", "ConditionCheckItem", "GetItem", "PutItem", "UpdateItem"]),
        ("DispatcherRole", vec!["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]),
        ("WorkerRole", vec!["ConditionCheckItem", "PutItem", "Query", "UpdateItem"]),
        ("SweeperRole", vec!["ConditionCheckItem", "Query", "UpdateItem"]),
    ];
    for (role, expected) in expected {
        let policies = properties(role)["Policies"].to_string();
        let mut allowed: Vec<_> =
            policies.split('"').filter_map(|word| word.strip_prefix("dynamodb:")).map(str::to_owned).collect();
        allowed.sort();
        assert_eq!(allowed, expected, "{role}");
    }
}

#[test]
fn access_logs_never_hold_a_path_or_a_query() {
    let format = properties("ApiStage")["AccessLogSettings"]["Format"].as_str().expect("a format").to_owned();
    for forbidden in ["path", "resourcePath", "Query", "query", "authorizer", "header"] {
        assert!(!format.contains(&format!("$context.{forbidden}")), "{forbidden}");
    }
    assert!(format.contains("$context.routeKey"), "the route key holds only placeholders");
}

#[test]
fn the_shards_that_can_be_chosen_are_those_that_the_code_takes() {
    let shards = template()["Parameters"]["Shards"].clone();
    let taken: Vec<u16> = (0..=u16::MAX).filter(|count| Shards::new(*count).is_some()).collect();
    assert_eq!(shards["AllowedValues"], serde_json::json!(taken));
    assert_eq!(taken.last(), Some(&limits::MAX_SHARDS));
    assert_eq!(shards["Default"], limits::DEFAULT_SHARDS);
}

#[test]
fn the_secrets_that_the_functions_may_read_are_those_that_apply_expects() {
    let prefix = template()["Parameters"]["SecretPrefix"]["Default"].clone();
    assert_eq!(format!("/{}/", prefix.as_str().expect("text")), hookbox_core::integration::SECRET_PREFIX);
}

/// `export $(aws cloudformation describe-stacks …)` of the README and of the command's own hint.
#[test]
fn one_output_holds_everything_that_the_command_asks_for() {
    let environment = template()["Outputs"]["Environment"]["Value"].as_str().expect("!Sub").to_owned();
    let names: Vec<&str> = environment.split(' ').filter_map(|one| one.split('=').next()).collect();
    let expected = ["TABLE", "URL", "DEAD_LETTER_QUEUE_URL", "SHARDS", "WORKER_LOG_GROUP"];
    assert_eq!(names, expected.map(|name| format!("HOOKBOX_{name}")));
}
