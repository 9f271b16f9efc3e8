"""The wait for other machines: whom it names, and how it ends."""

import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from bert_data.training.waiting import await_servers, ended_by_signals


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address_of(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_it_ends_when_all_have_answered(server: socket.socket) -> None:
    await_servers({address_of(server): "worker 1"}, seconds=0)


def test_it_names_who_has_not_answered(
    server: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        absent = address_of(other)
    servers = {address_of(server): "worker 1", absent: "worker 2"}
    sentence = rf"^worker 2 \({absent}\) has not answered for 0 s; `max_wait_seconds` sets"
    caplog.set_level("INFO", logger="absl")
    with pytest.raises(ConnectionError, match=sentence):
        await_servers(servers, seconds=0)
    assert f"waiting for worker 2 ({absent}), up to 0 s" in caplog.text


def test_two_that_wait_for_each_other_go_on() -> None:
    with socket.create_server(("", 0)) as one, socket.create_server(("", 0)) as two:
        addresses = [address_of(one), address_of(two)]
    both = threading.Barrier(2)

    def work(own: str, other: str) -> None:
        await_servers({other: "the other"}, own=own, seconds=60)
        with socket.create_server(("", int(own.rpartition(":")[2]))):  # as TensorFlow does
            both.wait(60)

    workers = [
        threading.Thread(target=work, args=pair, daemon=True)
        for pair in (addresses, addresses[::-1])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not both.broken


def test_a_port_that_is_taken(server: socket.socket) -> None:
    address = address_of(server)
    with pytest.raises(OSError, match=f"^cannot listen at {address}, .*: Address already in use$"):
        await_servers({}, own=address, seconds=0)


def test_the_system_ends_the_process_meanwhile() -> None:
    def handlers() -> list[object]:
        return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]

    before = handlers()
    with ended_by_signals(600):
        assert handlers() == [signal.SIG_DFL] * 2
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert handlers() == before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
