//! Who is believed to be the server, by `sslmode` and the file of authorities.

use super::settings::{Settings, SslMode};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{Error as PemError, PemObject},
    },
};
use std::{path::Path, sync::Arc};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What makes a connection a safe one.
///
/// # Errors
/// No authorities, or files that are none, a clause.
pub fn connector(settings: &Settings) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(settings, &provider)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let config = match &settings.own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| format!("no key in {}: {error}", key.display()))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// What of a certificate is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    /// Whose it is.
    Checked,
    /// Only who signed it.
    Any,
}

fn verifier(settings: &Settings, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
    let (root, mode) = (settings.root.as_deref(), settings.mode);
    let (roots, name) = match (mode, root) {
        (SslMode::VerifyFull | SslMode::VerifyCa, None) => {
            return Err(
                "sslmode asks for a known authority, and there is no ~/.postgresql/root.crt: \
                        name a file of certificates as sslrootcert=FILE, or sslrootcert=system"
                    .to_owned(),
            );
        }
        (SslMode::VerifyFull, Some(root)) => (authorities(root)?, Name::Checked),
        // As libpq does: where there is a file of authorities, `require` looks at it.
        (SslMode::VerifyCa | SslMode::Require, Some(root)) => (authorities(root)?, Name::Any),
        _ => return Ok(Verifier { known: None, name: Name::Any, provider: Arc::clone(provider) }),
    };
    let known = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Verifier { known: Some(known), name, provider: Arc::clone(provider) })
}

fn authorities(root: &Path) -> Result<RootCertStore, String> {
    let found = if root == Path::new("system") {
        rustls_native_certs::load_native_certs().certs
    } else {
        certificates(root)?
    };
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found);
    if added == 0 {
        return Err(format!("no certificate of an authority in {}", root.display()));
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: PemError| format!("no certificate in {}: {error}", file.display());
    CertificateDer::pem_file_iter(file).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
}

/// Judges the server's certificate.
#[derive(Debug)]
struct Verifier {
    /// By the authorities that are known; `None` where any will do.
    known: Option<Arc<WebPkiServerVerifier>>,
    name: Name,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(known) = &self.known else { return Ok(ServerCertVerified::assertion()) };
        let judged =
            known.verify_server_cert(end_entity, intermediates, server, ocsp_response, now);
        match judged {
            // The name is looked at last: all else is right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.name == Name::Any => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
