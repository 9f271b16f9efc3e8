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

from typing import TYPE_CHECKING

from bert_data.packages import import_on_use

if TYPE_CHECKING:
    from bert_data.storage.changing import is_users_folder as is_users_folder
    from bert_data.storage.changing import make_folder as make_folder
    from bert_data.storage.changing import open_folder as open_folder
    from bert_data.storage.changing import open_marker as open_marker
    from bert_data.storage.changing import open_shared_folder as open_shared_folder
    from bert_data.storage.changing import open_whole as open_whole
    from bert_data.storage.changing import refuse_planted as refuse_planted
    from bert_data.storage.changing import remove as remove
    from bert_data.storage.changing import remove_abandoned as remove_abandoned
    from bert_data.storage.changing import remove_folder as remove_folder
    from bert_data.storage.changing import remove_if_empty as remove_if_empty
    from bert_data.storage.changing import remove_matching as remove_matching
    from bert_data.storage.changing import remove_unfinished_uploads as remove_unfinished_uploads
    from bert_data.storage.changing import write_bytes as write_bytes
    from bert_data.storage.endings import COMPRESSIONS as COMPRESSIONS
    from bert_data.storage.endings import HTML as HTML
    from bert_data.storage.endings import JSONL as JSONL
    from bert_data.storage.endings import MAX_SHARDS as MAX_SHARDS
    from bert_data.storage.endings import TEXT as TEXT
    from bert_data.storage.endings import kinds_of as kinds_of
    from bert_data.storage.endings import refuse_other_endings as refuse_other_endings
    from bert_data.storage.file_systems import naming as naming
    from bert_data.storage.file_systems import naming_folder as naming_folder
    from bert_data.storage.json_files import Count as Count
    from bert_data.storage.json_files import FormatHeader as FormatHeader
    from bert_data.storage.json_files import decode_json as decode_json
    from bert_data.storage.json_files import json_text as json_text
    from bert_data.storage.json_files import parse_json as parse_json
    from bert_data.storage.json_files import read_json as read_json
    from bert_data.storage.json_files import read_object as read_object
    from bert_data.storage.json_files import write_json as write_json
    from bert_data.storage.local_copies import NoRoomError as NoRoomError
    from bert_data.storage.local_copies import copies_bytes as copies_bytes
    from bert_data.storage.memory import allowed_memory as allowed_memory
    from bert_data.storage.names import OutputNames as OutputNames
    from bert_data.storage.names import describe_absence as describe_absence
    from bert_data.storage.names import describe_comma as describe_comma
    from bert_data.storage.names import escape as escape
    from bert_data.storage.names import expand_inputs as expand_inputs
    from bert_data.storage.names import expand_output as expand_output
    from bert_data.storage.names import expand_outputs as expand_outputs
    from bert_data.storage.names import find_files as find_files
    from bert_data.storage.names import glob as glob
    from bert_data.storage.names import matches as matches
    from bert_data.storage.names import pattern_of as pattern_of
    from bert_data.storage.names import split_names as split_names
    from bert_data.storage.names import with_ending_last as with_ending_last
    from bert_data.storage.outputs import OutputSet as OutputSet
    from bert_data.storage.paths import absolute_path as absolute_path
    from bert_data.storage.paths import common_folder as common_folder
    from bert_data.storage.paths import hidden_path as hidden_path
    from bert_data.storage.paths import hidden_work_folder as hidden_work_folder
    from bert_data.storage.paths import is_remote as is_remote
    from bert_data.storage.paths import is_unfinished as is_unfinished
    from bert_data.storage.paths import local_path as local_path
    from bert_data.storage.paths import open_scratch as open_scratch
    from bert_data.storage.reading_files import MappedFile as MappedFile
    from bert_data.storage.reading_files import fill_array as fill_array
    from bert_data.storage.reading_files import load_array as load_array
    from bert_data.storage.reading_files import load_values as load_values
    from bert_data.storage.reading_files import map_file as map_file
    from bert_data.storage.reading_files import map_open as map_open
    from bert_data.storage.reading_files import map_part as map_part
    from bert_data.storage.reading_files import open_input as open_input
    from bert_data.storage.reading_files import read_array as read_array
    from bert_data.storage.reading_files import read_bytes as read_bytes
    from bert_data.storage.reading_files import read_many as read_many
    from bert_data.storage.reading_files import read_portions as read_portions
    from bert_data.storage.reading_files import read_values as read_values
    from bert_data.storage.reading_files import save_array as save_array
    from bert_data.storage.refusals import real_path as real_path
    from bert_data.storage.refusals import refuse_existing as refuse_existing
    from bert_data.storage.refusals import refuse_inputs as refuse_inputs
    from bert_data.storage.refusals import refuse_pipes as refuse_pipes
    from bert_data.storage.refusals import refuse_undecodable as refuse_undecodable
    from bert_data.storage.refusals import side_files as side_files
    from bert_data.storage.remote_files import RemoteFile as RemoteFile
    from bert_data.storage.remote_files import RemoteFiles as RemoteFiles
    from bert_data.storage.remote_files import StagedFolder as StagedFolder
    from bert_data.storage.remote_ranges import ByteRanges as ByteRanges
    from bert_data.storage.remote_ranges import CopiedFolder as CopiedFolder
    from bert_data.storage.remote_ranges import hold_ranges as hold_ranges
    from bert_data.storage.run_lock import RunLock as RunLock
    from bert_data.storage.run_lock import remove_left_overs as remove_left_overs
    from bert_data.storage.run_lock import scratch_folder as scratch_folder
    from bert_data.storage.statuses import Status as Status
    from bert_data.storage.statuses import exists as exists
    from bert_data.storage.statuses import file_size as file_size
    from bert_data.storage.statuses import file_sizes as file_sizes
    from bert_data.storage.statuses import folder_size as folder_size
    from bert_data.storage.statuses import free_bytes as free_bytes
    from bert_data.storage.statuses import is_file as is_file
    from bert_data.storage.statuses import is_folder as is_folder
    from bert_data.storage.statuses import is_inside as is_inside
    from bert_data.storage.statuses import is_link as is_link
    from bert_data.storage.statuses import list_folder as list_folder
    from bert_data.storage.statuses import modified_ns as modified_ns
    from bert_data.storage.statuses import read_status as read_status
    from bert_data.storage.statuses import read_statuses as read_statuses
    from bert_data.storage.statuses import walk_files as walk_files

__getattr__, __all__ = import_on_use(__name__)
