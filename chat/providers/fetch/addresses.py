"""Which network addresses are public. Source: IANA special-purpose registries, read 2026."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

# Listed here rather than asked of `ipaddress`: its answers differ between Python's patch versions.
_CLOSED_V4 = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
        "168.63.129.16/32",  # a metadata service on a public address (Azure)
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = tuple(
    ip_network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address inside
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")

_CLOSED_NAMES = frozenset({"localhost", "metadata", "instance-data", "metadata.goog"})
_CLOSED_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")


def is_public(address: str) -> bool:
    """Whether the address, as a resolver gives it, belongs to the public internet."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return _is_public_v4(parsed) if isinstance(parsed, IPv4Address) else _is_public_v6(parsed)


def is_closed_name(host: str) -> bool:
    """Names that only ever mean this machine, this network or a cloud's metadata service."""
    name = host.lower().rstrip(".")
    return name in _CLOSED_NAMES or name.endswith(_CLOSED_ENDINGS)


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _CLOSED_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    if address in _NAT64:
        return _is_public_v4(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _UNICAST_V6 and not any(address in network for network in _CLOSED_V6)
