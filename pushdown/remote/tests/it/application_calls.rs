// SPDX-License-Identifier: Apache-2.0
//! Tests that calls of applications end when their clients leave, whichever way they were made.

use std::{sync::Arc, time::Duration};

use nearscan_applications::Options;
use nearscan_remote::{
    ApplicationError, ApplicationErrorKind as Kind, RemoteApplications, ServerOptions,
    applications::{Beginning, Replace, Watched, What},
    audit::Audit,
};
use nearscan_store::Condition;
use rstest::rstest;

use crate::{
    application_events::handler,
    applications::{BAD, ECHO, REFUSE, WithApplications, add, package, raw, run},
    bench::{eventually, wait},
    guest::{guest, manifest},
    objects::noise,
};

/// A way to run an application.
#[derive(Debug, Clone, Copy)]
enum Call {
    Run,
    Schema,
    Retry,
}

impl Call {
    fn entry(self) -> &'static str {
        match self {
            Self::Run => "command",
            Self::Schema => "table",
            Self::Retry => "handler",
        }
    }

    async fn make(self, applications: &RemoteApplications) -> Result<(), ApplicationError> {
        match self {
            Self::Run => run(applications, "slow", b"").await.map(drop),
            Self::Schema => applications.schema("slow", &[]).await.map(drop),
            Self::Retry => {
                let letters = applications.dead_letters("h").await?;
                applications.retry("h", letters[0].event.sequence).await
            }
        }
    }
}

/// Makes a dead letter of the handler `h` of the application `slow`.
async fn make_dead_letter(server: &WithApplications, applications: &RemoteApplications) {
    add(applications, "slow", "handler", guest("handler", REFUSE, BAD)).await;
    applications.register(&handler("h", "slow"), Beginning::Now).await.unwrap();
    let mut watching = applications.watch(0).await.unwrap();
    let path = raw().object("a.csv").unwrap();
    let drive = server.connect();
    drive.objects().put(&path, noise(9), Condition::Always).await.unwrap();
    loop {
        if let Some(Watched::Notice(notice)) = watching.next().await.unwrap()
            && matches!(notice.what, What::DeadLetter { .. })
        {
            return;
        }
    }
}

#[rstest]
fn call_ends_when_its_client_leaves(#[values(Call::Run, Call::Schema, Call::Retry)] call: Call) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let audit = Some(Arc::new(Audit::open(&log).unwrap()));
    let options = Options { calls_max: 1, ..Options::default() };
    let server =
        WithApplications::with(options, ServerOptions { audit, ..ServerOptions::default() });
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        if matches!(call, Call::Retry) {
            make_dead_letter(&server, &applications).await;
        }
        let limits = "deadline_ms = 300000\nfuel = 1000000000000";
        // It does not come as far as to the function.
        let spin = "(func $spin (loop (br 0))) (start $spin)";
        let slow = guest(call.entry(), "(unreachable)", spin);
        let slow = package(manifest("slow", call.entry(), limits), slow);
        applications.install(slow, Replace::Same).await.unwrap();
        applications.start("slow").await.unwrap();
        let quick = manifest("quick", "command", "deadline_ms = 1000");
        let quick = package(quick, guest("command", ECHO, ""));
        applications.install(quick, Replace::Never).await.unwrap();
        applications.start("quick").await.unwrap();
        let running = {
            let applications = applications.clone();
            tokio::spawn(async move { call.make(&applications).await })
        };
        // It waits for its place as long as its deadline.
        loop {
            match run(&applications, "quick", b"").await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => {
                    assert_eq!(error.kind, Kind::Busy, "{error}");
                    break;
                }
            }
        }
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        assert_eq!(run(&applications, "quick", b"here").await.unwrap(), b"here");
        if matches!(call, Call::Retry) {
            assert_eq!(applications.dead_letters("h").await.unwrap().len(), 1);
        }
    });
    eventually("it is recorded", || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.lines().any(|line| line.contains("the client has left"))
    });
}
