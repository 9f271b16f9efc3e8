r"""Makes one task of a command never end; what it has made by then is not whole.

    STUCK_IN=bert_data.tokens.store_making.fill_store PYTHONPATH=tests/work/stuck:. \
        python -m bert_data.cli.tokenize FLAGS...

Every process of the command imports this module when it starts, as it stands on the path. The third
call of the function, in whatever process, prints its process as soon as the file `go` is there, and
then waits for ever. Without a folder `stuck` in the working folder nothing is stuck.
"""

import functools
import importlib
import os
import signal
from pathlib import Path
from typing import Any

from bert_data.gpt import export
from tests.work.cluster_items import wait_until

CALL = 3


def get_stuck(function: Any, *arguments: Any, **options: Any) -> Any:
    result = function(*arguments, **options)
    if is_the_call():
        wait_until(Path("go").exists)
        os.write(1, f"{os.getpid()}\n".encode())
        while True:
            signal.pause()
    return result


def is_the_call() -> bool:
    """Whether this call has the number that gets stuck; each process claims numbers by folders."""
    for number in range(1, CALL + 1):
        try:
            Path(f"stuck/{number}").mkdir()
        except FileExistsError:
            continue
        except FileNotFoundError:
            return False
        return number == CALL
    return False


export.PROCESS_BYTES = 1  # as if there were much to write
_module, _, _name = os.environ["STUCK_IN"].rpartition(".")
_place = importlib.import_module(_module)
setattr(_place, _name, functools.partial(get_stuck, getattr(_place, _name)))
