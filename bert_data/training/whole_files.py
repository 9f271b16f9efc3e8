"""Small texts that are wholly in their files or not at all, local or remote.

"eval_results.txt", text  ->  .eval_results.txt.partial  ->  (rename)  ->  eval_results.txt
"""

import os

import tensorflow as tf


def partial_name(name: str) -> str:
    """What the file `name` is called while it is written."""
    return f".{name}.partial"


def write_whole(folder: str, name: str, text: str) -> None:
    """Writes or replaces a file of a folder that exists.

    Raises:
      tf.errors.OpError: it cannot be written.
    """
    partial = os.path.join(folder, partial_name(name))
    with tf.io.gfile.GFile(partial, "w") as file:
        file.write(text)
    tf.io.gfile.rename(partial, os.path.join(folder, name), overwrite=True)
