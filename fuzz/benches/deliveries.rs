//! What verification and decoding cost: of one event of 4 KB, of the sample of every way to verify, and of batches that
//! double. `make bench` runs it.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use hookbox_fuzz::ways::{Delivery, WAYS, Way};
use hookbox_providers::Verdict;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    one_event(&mut criterion);
    samples(&mut criterion);
    batches(&mut criterion);
    refused(&mut criterion);
    criterion.final_summary();
}

/// The figures that are promised: 4 KB as the two busiest providers write them.
fn one_event(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("4-kb-event");
    let github = [("X-GitHub-Event", "issues"), ("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")];
    let bodies: [(_, &[u8], &[_]); 2] = [
        ("stripe/-", include_bytes!("bodies/stripe.json"), &[]),
        ("github/-", include_bytes!("bodies/github.json"), &github),
    ];
    for (name, body, headers) in bodies {
        let way = way(name);
        let delivery = delivery(way, body.to_vec(), headers);
        group.bench_function(format!("verify/{}", way.provider()), |bencher| {
            bencher.iter(|| verify(way, black_box(&delivery)));
        });
        group.bench_function(format!("decode/{}", way.provider()), |bencher| {
            bencher.iter(|| decode(way, black_box(&delivery)));
        });
    }
    group.finish();
}

/// Every way to verify with its sample, to see one that is out of line.
fn samples(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sample");
    group.sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
    for way in WAYS.iter() {
        let delivery = way.sample();
        if way.is_signable() {
            group.bench_function(BenchmarkId::new("verify", &way.name), |bencher| {
                bencher.iter(|| verify(way, black_box(&delivery)));
            });
        }
        group.bench_function(BenchmarkId::new("decode", &way.name), |bencher| {
            bencher.iter(|| decode(way, black_box(&delivery)));
        });
    }
    group.finish();
}

/// Batches that double: the time per byte has to stay where it is.
fn batches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for count in [125, 250, 500, 1_000] {
        for (name, body) in
            [("facebook/-", meta(count)), ("sendgrid/-", sendgrid(count)), ("adyen/payments", adyen(count))]
        {
            let way = way(name);
            let json = [("Content-Type", "application/json")];
            let delivery = if way.is_signable() {
                delivery(way, body.into_bytes(), &json)
            } else {
                Delivery::new(body.as_bytes())
            };
            group.throughput(Throughput::Bytes(delivery.body.len() as u64));
            if way.is_signable() {
                group.bench_function(BenchmarkId::new(format!("verify/{name}"), count), |bencher| {
                    bencher.iter(|| verify(way, black_box(&delivery)));
                });
            }
            let events = way.configured.decode(&delivery.request()).unwrap().events.len();
            assert_eq!(events, count, "{name}");
            group.bench_function(BenchmarkId::new(format!("decode/{name}"), count), |bencher| {
                bencher.iter(|| decode(way, black_box(&delivery)));
            });
        }
    }
    group.finish();
}

/// What anybody may send: it is looked at before anything is verified.
fn refused(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("refused");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let way = way("adyen/payments");
    for count in [25_000, 50_000, 100_000] {
        let body = format!(r#"{{"notificationItems":[{}]}}"#, vec!["{}"; count].join(","));
        let delivery = Delivery::new(body.as_bytes());
        group.throughput(Throughput::Bytes(delivery.body.len() as u64));
        group.bench_function(BenchmarkId::new("verify/adyen/payments", count), |bencher| {
            bencher.iter(|| assert!(delivery.reason(&way.configured, &way.secrets()).is_some()));
        });
    }
    group.finish();
}

/// Messages of ten pages.
fn meta(count: usize) -> String {
    let message = |at: usize| {
        format!(
            r#"{{"sender":{{"id":"{at}"}},"recipient":{{"id":"1067280970047460"}},"timestamp":1760000000000,"message":{{"mid":"m_{at}","text":"Are the two rooms still free from the 9th to the 12th? We are {at} people and a dog."}}}}"#
        )
    };
    let entry = |page: usize| {
        let messages: Vec<_> = (0..count).filter(|at| at % 10 == page).map(message).collect();
        format!(r#"{{"id":"{page}","time":1760000000000,"messaging":[{}]}}"#, messages.join(","))
    };
    format!(r#"{{"object":"page","entry":[{}]}}"#, (0..10).map(entry).collect::<Vec<_>>().join(","))
}

/// With 1,000 events the 768 KB that SendGrid sends at most.
fn sendgrid(count: usize) -> String {
    let event = |at: usize| {
        format!(
            r#"{{"email":"guest{at}@example.test","event":"delivered","timestamp":1760000000,"sg_event_id":"ZGVsaXZlcmVkLTAt{at:08}","sg_message_id":"14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.{at}","smtp-id":"<14c5d75ce93.dfd.64b469@ismtpd-555>","category":["{}"],"response":"250 2.0.0 OK"}}"#,
            "newsletter ".repeat(43)
        )
    };
    format!("[{}]", (0..count).map(event).collect::<Vec<_>>().join(",\r\n"))
}

fn adyen(count: usize) -> String {
    let item = |at: usize| {
        format!(
            r#"{{"NotificationRequestItem":{{"additionalData":{{"hmacSignature":"{{signature}}"}},"amount":{{"currency":"EUR","value":1000}},"eventCode":"AUTHORISATION","eventDate":"2025-10-09T08:53:20+02:00","merchantAccountCode":"DemoMerchant","merchantReference":"order-{at}","pspReference":"{at:016}","success":"true"}}}}"#
        )
    };
    format!(r#"{{"live":"false","notificationItems":[{}]}}"#, (0..count).map(item).collect::<Vec<_>>().join(","))
}

fn way(name: &str) -> &'static Way {
    WAYS.iter().find(|way| way.name == name).expect("the way")
}

fn delivery(way: &Way, body: Vec<u8>, headers: &[(&str, &str)]) -> Delivery {
    let mut delivery = Delivery::new(&body);
    delivery.headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    delivery.sign(&way.configured, "id", &way.signing).unwrap();
    delivery
}

fn verify(way: &Way, delivery: &Delivery) {
    let verdict = delivery.verify(&way.configured, std::slice::from_ref(&way.verifying));
    assert!(matches!(verdict, Verdict::Valid { .. }), "{verdict:?}");
}

fn decode(way: &Way, delivery: &Delivery) -> usize {
    way.configured.decode(&delivery.request()).expect("events").events.len()
}
