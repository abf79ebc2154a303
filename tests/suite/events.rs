//! Every file in `events/` is an event of the function that its name begins with.

use std::path::Path;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::sqs::SqsEvent;
use serde_json::Value;

fn parses(function: &str, case: &str, text: &str) -> Result<(), serde_json::Error> {
    match function {
        // Poison is what no typed event takes as a whole: the functions read each record by itself.
        "dispatcher" | "worker" if case == "poison" => {
            let event: Value = serde_json::from_str(text)?;
            assert!(event["Records"].as_array().is_some_and(|records| records.len() > 1), "poison among others");
            Ok(())
        }
        "ingest" => serde_json::from_str::<ApiGatewayV2httpRequest>(text).map(drop),
        "dispatcher" => serde_json::from_str::<StreamEvent>(text).map(drop),
        "worker" => serde_json::from_str::<SqsEvent>(text).map(drop),
        "sweeper" => serde_json::from_str::<Value>(text).map(drop),
        other => panic!("{other} is not a function"),
    }
}

#[test]
fn every_event_file_is_an_event_of_its_function() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../events");
    let mut functions = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("events/") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let Some((function, case)) = name.strip_suffix(".json").and_then(|name| name.split_once('.')) else { continue };
        let text = std::fs::read_to_string(&path).expect("readable");
        parses(function, case, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
        functions.insert(function.to_owned());
    }
    assert_eq!(functions.into_iter().collect::<Vec<_>>(), ["dispatcher", "ingest", "sweeper", "worker"]);
}
