// SPDX-License-Identifier: Apache-2.0
//! Makes certificates for tests of TLS: an authority, a server of this machine, and a client. They
//! are new in each test, so none of them is in the repository or can run out.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

/// A certificate and its key, as PEM.
pub(crate) struct Certified {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Certified {
    /// The certificate as DER, of which an access file has the hash.
    pub(crate) fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }
}

/// An authority, and what it has signed.
pub(crate) struct Certificates {
    /// The certificate of the authority, as PEM.
    pub(crate) authority: String,
    /// Of `localhost`, 127.0.0.1 and `::1`.
    pub(crate) server: Certified,
    /// Of a client named `client`.
    pub(crate) client: Certified,
}

impl Certificates {
    /// New ones, which nothing else trusts.
    pub(crate) fn make() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let names = ["localhost", "127.0.0.1", "::1"];
        Self {
            authority,
            server: signed(&issuer, "server", &names, ExtendedKeyUsagePurpose::ServerAuth),
            client: signed(&issuer, "client", &[], ExtendedKeyUsagePurpose::ClientAuth),
        }
    }
}

/// A certificate that the authority has signed for one purpose.
fn signed(
    issuer: &Issuer<'_, KeyPair>,
    name: &str,
    names: &[&str],
    purpose: ExtendedKeyUsagePurpose,
) -> Certified {
    let names: Vec<String> = names.iter().copied().map(str::to_owned).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap().pem();
    Certified { certificate, key: key.serialize_pem() }
}

/// Whether some bytes are among others.
fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn certificates_are_what_they_are_made_for() {
    let made = Certificates::make();
    let authority = CertificateDer::from_pem_slice(made.authority.as_bytes()).unwrap();
    let (server, client) = (made.server.der(), made.client.der());
    assert!(authority != server && server != client);
    for certified in [&made.server, &made.client] {
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
        assert!(matches!(key, PrivateKeyDer::Pkcs8(_)));
        // The name of who signed it.
        assert!(contains(&certified.der(), b"authority of a test"));
    }
    // As names of a host are in a certificate: tag, length, value.
    assert!(contains(&server, b"\x82\x09localhost"));
    assert!(contains(&server, &[0x87, 4, 127, 0, 0, 1]));
    assert!(!contains(&client, b"localhost"));
    // The purposes, 1.3.6.1.5.5.7.3.1 for a server and .2 for a client.
    let purpose = |last| [0x2b, 6, 1, 5, 5, 7, 3, last];
    assert!(contains(&server, &purpose(1)) && !contains(&server, &purpose(2)));
    assert!(contains(&client, &purpose(2)) && !contains(&client, &purpose(1)));
    // Each time others.
    assert_ne!(Certificates::make().server.key, made.server.key);
}
