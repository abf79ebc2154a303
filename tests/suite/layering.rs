//! Dependencies point one way.

use std::collections::{BTreeSet, HashMap};

use cargo_metadata::{DependencyKind, MetadataCommand, PackageId};

const PURE: [&str; 3] = ["hookbox-core", "hookbox-providers", "hookbox-destination"];

/// Whether a pure crate must not reach this one, however far down.
fn performs_io(name: &str) -> bool {
    let families = ["aws-", "aws_", "lambda_", "lambda-", "tokio", "hyper", "async-std"];
    families.iter().any(|family| name.starts_with(family))
        || ["reqwest", "ureq", "isahc", "socket2", "mio"].contains(&name)
}

/// The names of all crates that `package` is built from, without what only its tests need.
fn reach(package: &str) -> BTreeSet<String> {
    let metadata = MetadataCommand::new().exec().expect("cargo metadata");
    let names: HashMap<&PackageId, &str> = metadata.packages.iter().map(|p| (&p.id, p.name.as_str())).collect();
    let nodes: HashMap<_, _> =
        metadata.resolve.as_ref().expect("resolved").nodes.iter().map(|node| (&node.id, node)).collect();
    let start = metadata.packages.iter().find(|p| p.name == package).expect("a member of the workspace");
    let mut reached = BTreeSet::new();
    let mut open = vec![&start.id];
    while let Some(id) = open.pop() {
        for dependency in &nodes[id].deps {
            let built = dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
            if built && reached.insert(names[&dependency.pkg].to_owned()) {
                open.push(&dependency.pkg);
            }
        }
    }
    reached
}

#[test]
fn pure_crates_stay_pure() {
    for package in PURE {
        let impure: Vec<_> = reach(package).into_iter().filter(|name| performs_io(name)).collect();
        assert!(impure.is_empty(), "{package} reaches {impure:?}");
    }
}

#[test]
fn only_the_ledger_names_dynamodb() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let users: BTreeSet<_> = metadata
        .packages
        .iter()
        .filter(|package| {
            let built = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
            built.into_iter().any(|dependency| dependency.name == "aws-sdk-dynamodb")
        })
        .map(|package| package.name.as_str())
        .collect();
    assert_eq!(users, BTreeSet::from(["hookbox-ledger"]));
}

#[test]
fn a_crate_that_performs_io_is_recognised() {
    let reached = reach("hookbox-ledger");
    assert!(reached.iter().any(|name| performs_io(name)), "the check would see nothing: {reached:?}");
}
