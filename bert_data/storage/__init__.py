"""All access to files: paths and URIs, reading, and outputs that appear complete or not at all.

    patterns --glob, expand_inputs--> paths --open_input, map_file, read_bytes--> bytes
    bytes --open_whole, open_folder, OutputSet--> hidden names --all complete--> final names

A path is local, or a URI of pyarrow.fs. No other package opens, maps, stats, lists, renames or
removes a data file. Three promises hold, also where a run is killed:

1. Nothing half-made has a final name. What a run makes is under a hidden name until it is complete;
   of a set of files, the one that vouches for the others comes last.
2. Nothing is replaced that the run reads or that somebody else has put there. An older set goes
   only if `overwrite` is given, and comes back if the run cannot finish replacing it.
3. The same command, run again, goes on: what a killed run has left does not stand in its way. A
   lock says whether that run is alive, and its notes say what to undo and remove.
"""

from bert_data.storage.changing import (
    is_users_folder,
    make_folder,
    open_folder,
    open_marker,
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
from bert_data.storage.endings import (
    COMPRESSIONS,
    HTML,
    JSONL,
    TEXT,
    kinds_of,
    refuse_other_endings,
)
from bert_data.storage.file_systems import naming, naming_folder
from bert_data.storage.json_files import (
    Count,
    FormatHeader,
    decode_json,
    json_text,
    parse_json,
    read_json,
    read_object,
    write_json,
)
from bert_data.storage.local_copies import NoRoomError
from bert_data.storage.local_copies import max_bytes as copies_bytes
from bert_data.storage.memory import allowed_memory
from bert_data.storage.names import (
    MAX_SHARDS,
    OutputNames,
    describe_absence,
    describe_comma,
    escape,
    expand_inputs,
    expand_output,
    expand_outputs,
    find_files,
    glob,
    matches,
    pattern_of,
    split_names,
    with_ending_last,
)
from bert_data.storage.outputs import OutputSet
from bert_data.storage.paths import (
    absolute_path,
    common_folder,
    hidden_path,
    hidden_work_folder,
    is_remote,
    is_unfinished,
    local_path,
)
from bert_data.storage.paths import open_named as open_scratch
from bert_data.storage.reading_files import (
    MappedFile,
    fill_array,
    load_array,
    load_values,
    map_file,
    map_open,
    open_input,
    read_array,
    read_bytes,
    read_many,
    read_values,
    save_array,
)
from bert_data.storage.refusals import (
    real_path,
    refuse_existing,
    refuse_inputs,
    refuse_pipes,
    refuse_undecodable,
    side_files,
)
from bert_data.storage.remote_files import RemoteFile, RemoteFiles, StagedFolder
from bert_data.storage.remote_ranges import ByteRanges, CopiedFolder, hold_ranges
from bert_data.storage.run_lock import RunLock, remove_left_overs, scratch_folder
from bert_data.storage.statuses import (
    Status,
    exists,
    file_size,
    file_sizes,
    folder_size,
    free_bytes,
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
