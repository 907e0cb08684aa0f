"""The switch that keeps the tests off the network."""

import asyncio
import socket

import pytest

from tests.loopback import Guard, ReachedOutsideError, is_this_machine


@pytest.fixture
def forgiven(loopback_guard: Guard):
    """The attempts of these tests are meant."""
    yield loopback_guard
    loopback_guard.attempts.clear()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "::ffff:127.0.0.1"])
def test_loopback_is_this_machine(host):
    assert is_this_machine(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "0.0.0.0", "2001:db8::1", "::ffff:192.0.2.1", "a.example"]
)
def test_all_else_is_not(host):
    assert not is_this_machine(host)


def test_a_connection_outside_is_refused_and_names_the_test(forgiven):
    with (
        socket.socket() as outside,
        pytest.raises(ReachedOutsideError, match="test_a_connection_outside_is_refused"),
    ):
        outside.connect(("192.0.2.1", 80))
    assert len(forgiven.attempts) == 1


def test_a_datagram_outside_is_refused(forgiven):
    with socket.socket(type=socket.SOCK_DGRAM) as outside, pytest.raises(ReachedOutsideError):
        outside.sendto(b"hello", ("192.0.2.1", 53))


def test_a_name_is_not_looked_up(forgiven):
    with pytest.raises(ReachedOutsideError):
        socket.getaddrinfo("lumina.example", 443)


@pytest.mark.parametrize("number", ["192.0.2.1", "2001:db8::1", "2130706433", "0x7f.1", "10.1"])
def test_a_number_is_read_without_asking_anyone(number):
    assert socket.getaddrinfo(number, 443)


async def test_asyncio_is_refused_too(forgiven):
    with pytest.raises(ReachedOutsideError):
        await asyncio.open_connection("192.0.2.1", 80)


async def test_asyncio_still_talks_over_loopback():
    async def greet(reader, writer):
        writer.write(b"hello")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "localhost", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b"hello"
        writer.close()
        await writer.wait_closed()
