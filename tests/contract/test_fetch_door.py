"""The guarded door: what is refused, where connections go, and what a redirect may do."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpcore
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from chat.agent.errors import PageFailed, PageRefused
from chat.providers.fetch import GuardedReader
from chat.providers.fetch.door import AllowedHosts, GuardedBackend
from tests.servers.names import numeric_resolver
from tests.servers.web import WebServer, html_reply, redirect, reply, web_server

PAGE = "<html><title>Ice</title><body><p>Ice floats because it is less dense.</p></body></html>"


@pytest.fixture
def site() -> Iterator[WebServer]:
    with web_server(html_reply(PAGE)) as server:
        yield server


class Resolver:
    """Answers with the next list at every look-up; the last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def only_first_loopback(address: str) -> bool:
    """Stands for "public" where a test needs an address that it can really connect to."""
    return address == "127.0.0.1"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ice",
        "/library/1",
        "//example.com/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/html,hello",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://user:word@example.com/",
        "http://user@example.com/",
        "http://example.com:22/",
        "http://example.com:8080/",
        "http://example.com:99999/",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://example.com\\@127.0.0.1/",
        "http://exa\nmple.com/",
        "http://exa mple.com/",
        "http://" + "a" * 5000,
        "http://localhost/",
        "http://LOCALHOST./",
        "http://printer.local/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://metadata/",
    ],
)
async def test_these_addresses_are_refused_without_a_look_up(url: str) -> None:
    resolver = Resolver(["8.8.8.8"])
    with pytest.raises(PageRefused):
        await GuardedReader(resolver=resolver).read(url)
    assert resolver.asked == []


async def test_a_private_site_is_not_asked(site: WebServer) -> None:
    for host in ("127.0.0.1", "[::ffff:127.0.0.1]"):
        with pytest.raises(PageRefused, match="not on the public internet"):
            await GuardedReader().read(f"http://{host}/")
    assert site.requests == []


async def test_a_name_with_one_private_address_among_public_ones_is_refused() -> None:
    resolver = Resolver(["1.1.1.1", "10.0.0.7"])
    with pytest.raises(PageRefused, match="not on the public internet"):
        await GuardedReader(resolver=resolver).read("https://example.com/")


async def test_an_allowed_host_is_read_on_any_port(site: WebServer) -> None:
    page = await GuardedReader(allowed_hosts=["127.0.0.1"]).read(f"{site.url}/ice")
    assert "less dense" in page.text


async def test_an_allowed_port_opens_no_other_port(site: WebServer) -> None:
    reader = GuardedReader(allowed_hosts=[f"127.0.0.1:{site.port}"])
    assert (await reader.read(site.url)).title == "Ice"
    with pytest.raises(PageRefused):
        await reader.read(f"http://127.0.0.1:{site.port + 1}/")


async def test_an_allowed_host_opens_no_other_host(site: WebServer) -> None:
    reader = GuardedReader(allowed_hosts=["intranet.example"])
    with pytest.raises(PageRefused):
        await reader.read(site.url)


async def test_the_connection_goes_to_the_address_that_was_checked(site: WebServer) -> None:
    """A name server that answers "public" first and "private" next gains nothing."""
    resolver = Resolver(["127.0.0.1"], ["127.0.0.2"])
    backend = GuardedBackend(
        allowed=AllowedHosts([]), resolver=resolver, is_public=only_first_loopback
    )
    url = f"http://rebinding.example:{site.port}/"
    async with (
        httpcore.AsyncConnectionPool(network_backend=backend) as pool,
        pool.stream("GET", url) as response,
    ):
        stream = response.extensions["network_stream"]
        assert response.status == 200
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", site.port)
    assert len(resolver.asked) == 1


async def test_every_new_connection_is_checked_again(site: WebServer) -> None:
    resolver = Resolver(["127.0.0.1"], ["127.0.0.2"])
    backend = GuardedBackend(
        allowed=AllowedHosts([]), resolver=resolver, is_public=only_first_loopback
    )
    await (await backend.connect_tcp("rebinding.example", site.port)).aclose()
    with pytest.raises(PageRefused):
        await backend.connect_tcp("rebinding.example", site.port)


async def test_the_site_is_asked_by_its_name(site: WebServer) -> None:
    host = f"pinned.example:{site.port}"
    reader = GuardedReader(allowed_hosts=[host], resolver=Resolver(["127.0.0.1"]))
    page = await reader.read(f"http://{host}/ice?a=%2F&b=%E6%B0%B7#top")
    assert page.url == f"http://{host}/ice?a=%2F&b=%E6%B0%B7#top"
    assert site.requests[0].headers["host"] == host
    assert site.requests[0].target == "/ice?a=%2F&b=%E6%B0%B7"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://[2606:4700::1]/", "[2606:4700::1]"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
    ],
)
async def test_hosts_of_every_kind_are_named_as_the_web_wants_it(
    site: WebServer, url: str, host: str
) -> None:
    """A public address on port 80, answered by the server of this test."""
    backend = GuardedBackend(
        allowed=AllowedHosts([]), resolver=Resolver(["127.0.0.1"]), is_public=only_first_loopback
    )

    class Diverted(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, host: str, port: int, **options: Any) -> Any:
            assert port == 80
            return await backend.connect_tcp(host, site.port)

    reader = GuardedReader()
    reader._backend = Diverted()  # type: ignore[assignment]
    assert (await reader.read(url)).title == "Ice"
    assert site.requests[0].headers["host"] == host


async def test_a_second_address_is_tried_when_the_first_is_dead(site: WebServer) -> None:
    host = f"pinned.example:{site.port}"
    resolver = Resolver(["127.0.0.3", "127.0.0.1"])
    page = await GuardedReader(allowed_hosts=[host], resolver=resolver).read(f"http://{host}/")
    assert page.title == "Ice"


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/admin",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
        "http://2130706433/",
        "http://192.168.0.1/",
        "http://localhost/",
        "//10.0.0.1/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://user:word@example.com/",
        "http://[broken",
    ],
)
@pytest.mark.parametrize("status", [301, 307])
async def test_a_redirect_inwards_is_refused(site: WebServer, target: str, status: int) -> None:
    site.routes["/out"] = redirect(target, status)
    reader = GuardedReader(allowed_hosts=[f"127.0.0.1:{site.port}"], resolver=numeric_resolver)
    with pytest.raises(PageRefused):
        await reader.read(f"{site.url}/out")
    assert [seen.target for seen in site.requests] == ["/out"]


async def test_a_redirect_to_another_port_of_an_allowed_host_is_refused(site: WebServer) -> None:
    with web_server(html_reply(PAGE)) as other:
        site.routes["/out"] = redirect(other.url)
        with pytest.raises(PageRefused):
            await GuardedReader(allowed_hosts=[f"127.0.0.1:{site.port}"]).read(f"{site.url}/out")
        assert other.requests == []


async def test_redirects_are_followed_and_the_page_has_its_last_address(site: WebServer) -> None:
    site.routes |= {"/a": redirect("/b"), "/b": redirect("c/%E6%B0%B7?x=1", 308)}
    page = await GuardedReader(allowed_hosts=["127.0.0.1"]).read(f"{site.url}/a")
    assert page.url == f"{site.url}/c/%E6%B0%B7?x=1"


async def test_five_redirects_are_followed_and_not_six(site: WebServer) -> None:
    site.routes |= {f"/{hop}": redirect(f"/{hop + 1}") for hop in range(6)}
    reader = GuardedReader(allowed_hosts=["127.0.0.1"])
    assert (await reader.read(f"{site.url}/1")).url == f"{site.url}/6"
    with pytest.raises(PageFailed, match="more than 5 times"):
        await reader.read(f"{site.url}/0")


async def test_cookies_and_referrers_are_not_carried_along(site: WebServer) -> None:
    site.routes["/a"] = reply(302, location="/b", set_cookie="who=me")
    await GuardedReader(allowed_hosts=["127.0.0.1"]).read(f"{site.url}/a")
    assert not {"cookie", "referer", "authorization"} & set(site.requests[1].headers)


async def test_a_proxy_in_the_environment_is_not_used(
    site: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with web_server() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        page = await GuardedReader(allowed_hosts=["127.0.0.1"]).read(site.url)
        assert page.title == "Ice"
        assert proxy.requests == []


async def test_an_unknown_name_is_said_to_be_unknown() -> None:
    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(PageFailed, match=r"no site called nowhere\.example"):
        await GuardedReader(resolver=nowhere).read("https://nowhere.example/")


async def test_tls_checks_the_name_and_not_the_pinned_address(tmp_path: Path) -> None:
    server_side, client_side = certificate_for("pinned.example", tmp_path)
    with web_server(html_reply(PAGE), tls=server_side) as site:
        names: list[str | None] = []
        server_side.sni_callback = lambda _, name, __: names.append(name)
        hosts = [f"{name}.example:{site.port}" for name in ("pinned", "other")]
        reader = GuardedReader(
            allowed_hosts=hosts, resolver=Resolver(["127.0.0.1"]), ssl_context=client_side
        )
        assert (await reader.read(f"https://{hosts[0]}/")).title == "Ice"
        assert names == ["pinned.example"]
        with pytest.raises(PageFailed, match="certificate of other"):
            await reader.read(f"https://{hosts[1]}/")


def certificate_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's side of a certificate that is valid for one name alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
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
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(pem)
    )
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(file)
    return server_side, ssl.create_default_context(cadata=certificate.public_bytes(pem).decode())
