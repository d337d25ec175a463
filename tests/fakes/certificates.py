"""Certificates for names of a test, contexts that show and trust one, and who signs others."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def contexts_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For a server at this name, and for a client that trusts nobody else."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(name)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(pem))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))


@dataclass(frozen=True)
class Signed:
    """A certificate in a file, and its private key in another."""

    certificate: Path
    key: Path


class Authority:
    """One that signs certificates of servers and clients; `file` is its own certificate's."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name, self._folder = name, folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name}-ca.pem"
        own = self._certificate(name, self._key, ends_in=1, is_authority=True)
        self.file.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    def signed(self, name: str, ends_in: float = 1) -> Signed:
        """A certificate for this name that ends in so many days, or ended before today."""
        key = ec.generate_private_key(ec.SECP256R1())
        files = Signed(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pem = serialization.Encoding.PEM
        files.certificate.write_bytes(self._certificate(name, key, ends_in).public_bytes(pem))
        files.key.write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return files

    def _certificate(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        ends_in: float,
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        ends = datetime.now(UTC) + timedelta(days=ends_in)
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(self._name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(ends - timedelta(days=9))
            .not_valid_after(ends)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
