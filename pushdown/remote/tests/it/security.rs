// SPDX-License-Identifier: Apache-2.0
//! Tests who may reach a server, and do what, over which connections.

use std::{path::Path, sync::Arc};

use nearscan_cpu::CpuDrive;
use nearscan_drive::Drive;
use nearscan_remote::{
    Address, Allowed, Denial, Error, Exposure, LinkLimit, Listener, ObjectErrorKind, Options,
    RemoteDrive, Security, ServerOptions, ServerTls, Tls, TlsOptions,
    access::{Access, Scope},
    audit::Audit,
    serve,
};
use nearscan_store::{CollectionPath, Condition, Quota};
use rstest::rstest;

use crate::{
    bench::{Served, Way, options, wait},
    certificates::Certificates,
    objects::{WithObjects, noise, object},
};

pub(crate) fn tls_of(certificates: &Certificates) -> ServerTls {
    ServerTls {
        certificate: certificates.server.certificate.clone().into(),
        key: certificates.server.key.clone().into(),
        client_authorities: Some(certificates.authority.clone().into()),
    }
}

/// A server that knows the clients of an access file and encrypts.
fn secured(file: &Path, certificates: &Certificates) -> WithObjects {
    let options = ServerOptions {
        access: Arc::new(Access::read(file).unwrap()),
        audit: Some(Arc::new(Audit::open(&file.with_extension("audit")).unwrap())),
        tls: Some(tls_of(certificates)),
        ..ServerOptions::default()
    };
    WithObjects::with(Way::Tcp, options)
}

fn connect(address: &Address, security: Security) -> Result<RemoteDrive, Error> {
    RemoteDrive::connect(address, Options { security, ..options() })
}

pub(crate) fn trusting(certificates: &Certificates) -> TlsOptions {
    TlsOptions { authorities: certificates.authority.clone().into(), ..TlsOptions::default() }
}

#[test]
fn client_does_what_its_scopes_allow_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let token = |name: &str, scopes: &[Scope]| {
        Access::grant(&file, name, scopes.iter().copied().collect()).unwrap().reveal()
    };
    let reader = token("reader", &[Scope::Read]);
    let writer = token("writer", &[Scope::Read, Scope::Write]);
    let admin = token("admin", &Scope::ALL);
    let certificates = Certificates::make();
    let server = secured(&file, &certificates);
    let with = |token: &str| {
        let (token, tls) = (Some(token.to_owned()), Tls::On(trusting(&certificates)));
        connect(&server.served.address, Security { token, tls })
    };
    let (reader, writer, admin) =
        (with(&reader).unwrap(), with(&writer).unwrap(), with(&admin).unwrap());
    let put = |drive: &RemoteDrive| {
        let objects = drive.objects();
        wait(async { objects.put(&object("a"), noise(9), Condition::Always).await })
    };
    let denied = put(&reader).unwrap_err();
    assert_eq!(denied.kind, ObjectErrorKind::Denied, "{denied}");
    assert!(denied.reason.contains("client reader lacks the scope write"), "{denied}");
    put(&writer).unwrap();
    wait(async { reader.objects().info(&object("a")).await.unwrap() });
    let collection = CollectionPath::in_default("c").unwrap();
    let container = |drive: &RemoteDrive| {
        let objects = drive.objects();
        wait(async { objects.remove_collection(&collection).await }).unwrap_err().kind
    };
    assert_eq!(container(&reader), ObjectErrorKind::Denied);
    // It may, but there is an object in it.
    assert_eq!(container(&writer), ObjectErrorKind::Refused);
    assert!(writer.reset().is_err());
    admin.reset().unwrap();
    assert!(is_unknown(&with("nsd_0").unwrap_err()));
    let log = std::fs::read_to_string(file.with_extension("audit")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let has =
        |parts: &[&str]| lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["reader", "nearscan.put", "denied", "lacks the scope write"]), "{log}");
    assert!(has(&["writer", "nearscan.put", "default/c/a", "allowed"]), "{log}");
    assert!(has(&["writer", "nearscan.put", "default/c/a", "done", "\"bytes\":9}"]), "{log}");
    assert!(has(&["admin", "nearscan.reset", "done"]), "{log}");
    assert!(!log.contains("nsd_"), "{log}");
}

fn is_unknown(error: &Error) -> bool {
    matches!(error, Error::Denied { denial: Denial::Unknown { .. }, .. })
}

#[test]
fn client_that_is_not_known_is_told_something_else_than_one_without_the_scope() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let writer = Access::grant(&file, "writer", [Scope::Write].into_iter().collect()).unwrap();
    let certificates = Certificates::make();
    let server = secured(&file, &certificates);
    let address = &server.served.address;
    let with = |token| {
        connect(address, Security { token, tls: Tls::On(trusting(&certificates)) }).unwrap_err()
    };
    let parts = |error: &Error| {
        (error.to_string(), error.detail().unwrap().to_owned(), error.hint().unwrap())
    };
    let (primary, detail, hint) = parts(&with(None));
    assert_eq!(primary, format!("{address} does not know this client"));
    assert_eq!(detail, "a token or a certificate is needed");
    assert!(hint.contains("token_file=FILE"), "{hint}");
    let (primary, detail, hint) = parts(&with(Some(writer.reveal())));
    let expected = "knows this client, which may not connect: that needs the scope read";
    assert_eq!(primary, format!("{address} {expected}"));
    assert_eq!(detail, "client writer lacks the scope read");
    assert!(hint.contains("access file"), "{hint}");
}

#[test]
fn client_is_known_by_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let certificates = Certificates::make();
    let hash = sha256(&certificates.client.der());
    let text = format!(
        "[[client]]\nname = \"loader\"\ncertificate_sha256 = \"{hash}\"\nscopes = [\"read\"]\n"
    );
    std::fs::write(&file, text).unwrap();
    let server = secured(&file, &certificates);
    let with = |identity| {
        let options = TlsOptions { identity, ..trusting(&certificates) };
        connect(&server.served.address, Security { token: None, tls: Tls::On(options) })
    };
    let client = &certificates.client;
    let identity = (client.certificate.clone().into(), client.key.clone().into());
    with(Some(identity)).unwrap();
    assert!(is_unknown(&with(None).unwrap_err()));
    // One that another authority has signed never gets as far.
    let other = Certificates::make().client;
    let unknown = with(Some((other.certificate.into(), other.key.into()))).unwrap_err();
    assert!(matches!(unknown, Error::Unreachable { .. }), "{unknown}");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn server_that_is_not_trusted_or_has_another_name_gets_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let token = Access::grant(&file, "a", [Scope::Read].into_iter().collect()).unwrap().reveal();
    let certificates = Certificates::make();
    let server = secured(&file, &certificates);
    let with = |tls| {
        connect(&server.served.address, Security { token: Some(token.clone()), tls }).unwrap_err()
    };
    let stranger = with(Tls::On(trusting(&Certificates::make())));
    assert!(stranger.to_string().contains("certificate"), "{stranger}");
    let name = Some("storage.example".to_owned());
    let misnamed = with(Tls::On(TlsOptions { server_name: name, ..trusting(&certificates) }));
    assert!(misnamed.to_string().contains("not valid for name"), "{misnamed}");
    let plain = with(Tls::Off);
    assert!(matches!(plain, Error::Unreachable { .. }), "{plain}");
    let far = Address::Tcp("192.0.2.1:7000".to_owned());
    let token = Some(token.clone());
    let refused = connect(&far, Security { token, tls: Tls::Off }).unwrap_err();
    assert!(refused.to_string().contains("not sent without encryption"), "{refused}");
}

#[rstest]
#[case(Allowed::No, Allowed::Yes, Some("clients do not say who they are"))]
#[case(Allowed::Yes, Allowed::No, Some("connections are not encrypted"))]
#[case(Allowed::Yes, Allowed::Yes, None)]
fn server_is_exposed_only_if_it_was_told_so(
    #[case] anonymous: Allowed,
    #[case] plaintext: Allowed,
    #[case] lacks: Option<&str>,
) {
    let drive = CpuDrive::start(nearscan_cpu::Options::with_threads(1)).unwrap();
    let exposure = Exposure { anonymous, plaintext };
    let options = ServerOptions { exposure, ..ServerOptions::default() };
    let served = wait(async {
        let listener = Listener::bind(&"0.0.0.0:0".parse().unwrap()).await.unwrap();
        serve(Arc::new(drive), listener, options, async {}).await
    });
    match (served, lacks) {
        (Ok(()), None) => {}
        (Err(error @ Error::Exposed { .. }), Some(lacks)) => {
            assert!(error.to_string().contains(lacks), "{error}");
        }
        (served, _) => panic!("{served:?}"),
    }
}

#[test]
fn link_limits_how_fast_objects_come_at_either_end() {
    let limit = LinkLimit { bytes_per_s: 40_000_000.try_into().ok(), ..LinkLimit::NONE };
    let length = 10_000_000;
    let took = |of_server: LinkLimit, of_client: LinkLimit| {
        let options = ServerOptions { link: of_server, ..ServerOptions::default() };
        let server = WithObjects::with(Way::Tcp, options);
        let collection = CollectionPath::in_default("c").unwrap();
        server.store.create_collection(&collection, Quota::default()).unwrap();
        server.store.put(&object("a"), &noise(length), Condition::Always).unwrap();
        let link = Options { link: of_client, ..crate::bench::options() };
        let drive = RemoteDrive::connect(&server.served.address, link).unwrap();
        let watch = nearscan_drive::clock::Stopwatch::start();
        wait(async {
            let mut reading = drive.objects().read(&object("a"), None, &[]).await.unwrap();
            while reading.next().await.unwrap().is_some() {}
        });
        watch.elapsed().as_secs_f64()
    };
    for took in [took(limit, LinkLimit::NONE), took(LinkLimit::NONE, limit)] {
        assert!((0.24..1.0).contains(&took), "{took} s for 0.25 s");
    }
}

/// A server without objects answers like one with them to a client that is not known.
#[test]
fn client_that_is_not_known_learns_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    drop(Access::grant(&file, "a", [Scope::Read].into_iter().collect()).unwrap());
    let drive = CpuDrive::start(nearscan_cpu::Options::with_threads(1)).unwrap();
    let options = ServerOptions {
        access: Arc::new(Access::read(&file).unwrap()),
        ..ServerOptions::default()
    };
    let place = crate::bench::Place::new(Way::Unix);
    let served = Served::with(Arc::new(drive), place, options);
    let denied = connect(&served.address, Security::default()).unwrap_err();
    assert_eq!(denied.detail(), Some("a token or a certificate is needed"), "{denied}");
}

#[test]
fn client_at_its_limit_keeps_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let scopes = [Scope::Read, Scope::Write].into_iter().collect();
    let token = Some(Access::grant(&file, "a", scopes).unwrap().reveal());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\nrequests_in_flight = 1\n")).unwrap();
    let access = Arc::new(Access::read(&file).unwrap());
    let server = WithObjects::with(Way::Unix, ServerOptions { access, ..ServerOptions::default() });
    let security = Security { token, tls: Tls::Beyond };
    let drive = connect(&server.served.address, security).unwrap();
    wait(async {
        let objects = drive.objects();
        objects.put(&object("a"), noise(64 << 20), Condition::Always).await.unwrap();
        let mut reading = objects.read(&object("a"), None, &[]).await.unwrap();
        let refused = objects.info(&object("a")).await.unwrap_err();
        assert_eq!(refused.kind, ObjectErrorKind::Exhausted, "{refused}");
        // Several keep-alives long.
        tokio::time::sleep(4 * options().keep_alive_interval).await;
        assert!(drive.is_connected());
        while reading.next().await.unwrap().is_some() {}
    });
}
