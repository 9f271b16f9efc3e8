"""Every file goes through here: paths and URIs in, bytes out; outputs that appear whole.

    patterns --glob, expand_inputs--> paths --open_input, map_file, read_bytes--> bytes
    bytes --open_whole, OutputSet--> hidden names --all is whole--> final names

A path is local, or a URI of pyarrow.fs (`paths.py`); no other module opens, maps, stats, lists,
renames or removes a data file.

names.py        lists of patterns to inputs, "path@N" to outputs; patterns.py: TensorFlow's Glob
reading.py      streams, memory maps, sizes, listings
outputs.py      sets of files that appear together, or not at all
whole_folders.py  the same for folders
run_lock.py     the lock of a run; what a killed one has left is removed by the next
"""

from bert_data.storage.names import OutputNames, expand_inputs, expand_outputs, refuse_doubles
from bert_data.storage.outputs import OutputSet, refuse_existing
from bert_data.storage.paths import is_remote, naming
from bert_data.storage.patterns import glob
from bert_data.storage.reading import (
    MappedFile,
    Status,
    exists,
    file_size,
    is_file,
    is_folder,
    list_folder,
    map_file,
    open_input,
    read_bytes,
    read_status,
)
from bert_data.storage.run_lock import RunLock, hidden_path
from bert_data.storage.whole_folders import WholeFolders

__all__ = [
    "MappedFile",
    "OutputNames",
    "OutputSet",
    "RunLock",
    "Status",
    "WholeFolders",
    "exists",
    "expand_inputs",
    "expand_outputs",
    "file_size",
    "glob",
    "hidden_path",
    "is_file",
    "is_folder",
    "is_remote",
    "list_folder",
    "map_file",
    "naming",
    "open_input",
    "read_bytes",
    "read_status",
    "refuse_doubles",
    "refuse_existing",
]
