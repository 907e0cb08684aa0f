"""Which addresses are public, and that no spelling of a private one gets through."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.errors import PageFailed, PageRefused
from chat.providers.fetch import GuardedReader
from chat.providers.fetch.addresses import is_public
from tests.servers.names import numeric_resolver

PRIVATE = (
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.251",
    "239.255.255.250",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
    "",
)
PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "172.15.255.255",
    "172.32.0.1",
    "100.128.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450:4009::200e",
    "64:ff9b::808:808",
)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_counts_as_public_is_global_for_python_too(address: IPv4Address | IPv6Address) -> None:
    if is_public(str(address)):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4).filter(lambda address: not is_public(str(address))))
def test_no_ipv6_form_of_a_private_ipv4_address_is_public(address: IPv4Address) -> None:
    number = int(address)
    forms = (
        number,
        0xFFFF << 32 | number,
        0x0064FF9B << 96 | number,
        0x2002 << 112 | number << 80,
        0x20010000 << 96 | number ^ 0xFFFFFFFF,
    )
    assert not any(is_public(str(IPv6Address(form))) for form in forms)


def spellings(address: IPv4Address) -> list[str]:
    """Ways in which system resolvers accept one IPv4 address."""
    number = int(address)
    parts = [number >> shift & 255 for shift in (24, 16, 8, 0)]
    return [
        str(address),
        str(number),
        hex(number),
        f"0{number:o}",
        ".".join(hex(part) for part in parts),
        ".".join(f"0{part:o}" for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{number & 0xFFFF}",
        f"{address}.",
        f"[::ffff:{address}]",
        f"[64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}]",
        "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in str(address)),
        str(address).replace(".", "。"),
    ]


READER = GuardedReader(timeout_seconds=2, resolver=numeric_resolver)


@given(
    address=st.one_of(
        st.ip_addresses(network="127.0.0.0/8"),
        st.ip_addresses(network="10.0.0.0/8"),
        st.ip_addresses(network="192.168.0.0/16"),
        st.just(ip_address("169.254.169.254")),
    ),
    which=st.integers(0, 12),
    scheme=st.sampled_from(["http", "https"]),
)
async def test_no_spelling_of_a_private_address_is_read(
    address: IPv4Address, which: int, scheme: str
) -> None:
    with pytest.raises((PageRefused, PageFailed)) as caught:
        await READER.read(f"{scheme}://{spellings(address)[which]}/latest/meta-data/")
    sentence = str(caught.value)
    assert (
        "not on the public internet" in sentence
        or "There is no site" in sentence
        or ("not a web address" in sentence)
    )
