"""Messages of C libraries on standard error are caught while a call runs, and only then."""

import ctypes
import os
import threading

import pytest

from bert_data.storage.schemes.hadoop import heard

LIBC = ctypes.CDLL(None)


def say(text: str) -> None:
    """Writes as C code does: to what its variable `stderr` points to at the moment."""
    stream = ctypes.c_void_p.in_dll(LIBC, "stderr")
    LIBC.fputs(text.encode(), stream)


def fail_saying(text: str) -> str:
    """Returns what was heard of a call that says something and fails."""
    found = ""
    with pytest.raises(OSError, match="failed"), heard() as said:
        say(text)
        found = said()
        raise OSError("failed")
    return found


def test_what_a_failing_call_says_is_its_errors(capfd):
    assert fail_saying("one\n") == "one\n"
    assert fail_saying("two\nthree\n") == "two\nthree\n"
    say("usual\n")
    assert capfd.readouterr().err == "usual\n"


def test_what_no_error_tells_is_passed_on(capfd):
    with heard() as said:
        say("one\n")
        os.write(2, b"python's own\n")
        assert said() == "one\n"
        with heard() as said:
            say("two\n")
            assert said() == "two\n"
    assert capfd.readouterr().err == "python's own\none\ntwo\n"


def test_calls_of_several_threads(capfd):
    """Each hears from its own begin on; the stream is the usual one when the last has ended."""
    barrier = threading.Barrier(4)
    found = []

    def call(number: int) -> None:
        for turn in range(50):
            barrier.wait()
            found.append(f"{number} {turn}\n" in fail_saying(f"{number} {turn}\n"))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say("usual\n")
    assert found == [True] * 200 and capfd.readouterr().err == "usual\n"


@pytest.mark.process
def test_a_child_that_is_forked_meanwhile_says_as_usual():
    reader, writer = os.pipe()
    with heard():
        child = os.fork()
        if not child:
            os.dup2(writer, 2)
            say("child\n")
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, "rb") as pipe:
        assert pipe.read() == b"child\n"
