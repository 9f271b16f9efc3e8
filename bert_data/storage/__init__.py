"""All access to files: paths and URIs, reading, and outputs that appear complete or not at all.

    patterns --glob, expand_inputs--> paths --open_input, map_file, read_bytes--> bytes
    bytes --open_whole, open_folder, OutputSet--> hidden names --all complete--> final names

A path is local, or a URI (`paths.py`) of pyarrow.fs (`file_systems.py`; each store in `schemes/`),
whose errors `failures.py` turns into sentences; no other package opens, maps, stats, lists, renames
or removes a data file.

names.py        patterns to input files, "path@N" to output files; TensorFlow's Glob
statuses.py     sizes, kinds and times of files, listings
reading.py      streams, memory maps; arrays.py: NumPy arrays
                descriptors.py, maps.py: many local files at a time
                json_files.py: JSON, checked value by value
                remote_files.py: streams and ranges of remote files, and a local file for them
                local_copies.py: copies of remote files, to map
changing.py     one file or folder that appears complete or not at all; removals
uploading.py    local files that become objects
outputs.py      sets of files and folders that appear together or not at all
  refusals.py     what they must not replace, such as the run's own inputs and others' folders
  run_lock.py     the lock of a run; the next run removes what a killed run left
  hidden.py       names of unfinished files, which no pattern matches
scratch_folders.py  folders for what is written before an output, and for TensorFlow
"""

from bert_data.storage.arrays import load_array, load_values, read_array, read_values, save_array
from bert_data.storage.changing import (
    is_own_folder,
    make_folder,
    open_folder,
    open_marker,
    open_scratch,
    open_shared_folder,
    open_whole,
    refuse_planted,
    remove,
    remove_abandoned,
    remove_folder,
    remove_if_empty,
    remove_matching,
    remove_unfinished_uploads,
    write_bytes,
)
from bert_data.storage.failures import naming, naming_folder
from bert_data.storage.hidden import hidden_path, is_unfinished, own_work_folder
from bert_data.storage.json_files import JsonObject, parse_json, read_json
from bert_data.storage.names import (
    MAX_SHARDS,
    OutputNames,
    describe_absence,
    escape,
    expand_inputs,
    expand_outputs,
    find_files,
    glob,
    matches,
    pattern_of,
    with_ending_last,
)
from bert_data.storage.outputs import OutputSet
from bert_data.storage.paths import absolute_path, common_folder, is_remote
from bert_data.storage.reading import (
    MappedFile,
    map_file,
    open_input,
    read_bytes,
    read_many,
    read_range,
)
from bert_data.storage.refusals import real_path, refuse_existing, refuse_inputs, side_files
from bert_data.storage.run_lock import RunLock, remove_left_overs
from bert_data.storage.scratch_folders import CopiedFolder, StagedFolder, scratch_folder
from bert_data.storage.statuses import (
    Status,
    exists,
    file_size,
    file_sizes,
    folder_size,
    is_file,
    is_folder,
    is_inside,
    is_link,
    list_folder,
    modified_ns,
    read_status,
    read_statuses,
    walk_files,
)
