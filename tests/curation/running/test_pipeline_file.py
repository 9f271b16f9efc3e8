"""Pipelines as they are written: in a file and in flags, and what is refused."""

import json
import re
import sys
from pathlib import Path

import pytest

from bert_data.curation.running.pipeline import Pipeline, label_steps
from bert_data.curation.running.pipeline_file import (
    parse_inputs,
    parse_step_flags,
    parse_steps,
    read_pipeline_file,
)
from bert_data.curation.running.presets import PRESETS, SOURCES, preset_steps
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step, steps_by_name
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_config import StoreSettings
from tests.curation.corpora import write_rows

COVERS = ("curation/running/presets",)


TEXT = TextConfig()

WHOLE = """
inputs:
  - {name: wiki, files: [a.jsonl, b.jsonl], text_field: body, id_field: key, weight: 2}
  - {name: web, files: "c*.parquet", format: parquet, weight: 0.5}
preset: gopher
steps:
  - length
  - mix: {unit: words}
  - length: {min_words: 3, max_words: 9}
output: {files: out.jsonl@2, format: jsonl, split_sentences: true, language: de}
"""


def read(tmp_path, content: str):
    path = tmp_path / "p.yaml"
    path.write_text(content)
    return read_pipeline_file(str(path), TEXT)


def test_a_whole_file(tmp_path):
    pipeline = read(tmp_path, WHOLE)
    wiki, web = pipeline.data_sets
    assert (wiki.name, wiki.files, wiki.text.text_field) == ("wiki", "a.jsonl,b.jsonl", "body")
    assert (wiki.id_field, wiki.weight, wiki.text.input_format) == ("key", 2, "auto")
    assert (web.files, web.text.input_format, web.weight) == ("c*.parquet", "parquet", 0.5)
    names = [step.name for step in pipeline.steps]
    assert names == [*(name for name, _ in PRESETS["gopher"]), "length", "mix", "length"]
    assert pipeline.steps[-1].min_words == 3
    mix = pipeline.steps[-2]
    assert (dict(mix.weights), mix.unit) == ({"wiki": 2, "web": 0.5}, "words")
    assert pipeline.output is not None
    assert (pipeline.output.files, pipeline.output.language) == ("out.jsonl@2", "de")
    assert (pipeline.output.output_format, pipeline.output.split_sentences) == ("jsonl", True)


def test_copies_as_scores_as_the_guide_has_them(tmp_path, monkeypatch):
    guide = Path(__file__).resolve().parents[3] / "docs" / "guides" / "curate.md"
    section = guide.read_text("utf-8").partition("### Copies as a score")[2]
    monkeypatch.chdir(tmp_path)
    story = " ".join(f"word{n}" for n in range(40))
    shared = "\n\n".join(f"A paragraph {name} of several pages." for name in "abc")
    texts = [story + " x" * n for n in range(3)]
    texts += [f"A page of its own, {name} " * 9 + f"\n\n{shared}" for name in ("one", "two")]
    write_rows(tmp_path / "web.jsonl", [{"text": text} for text in texts])
    pipeline = read(tmp_path, re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1])
    done = Pipeline(
        data_sets=pipeline.data_sets, steps=label_steps(pipeline.steps), output=pipeline.output
    )
    run_pipeline(done, num_workers=1)
    rows = [json.loads(line) for line in (tmp_path / "corpus.jsonl").read_text().splitlines()]
    copies = {(row["copies"], row["paragraph_copies"]) for row in rows}
    assert copies <= {(2, 0), (0, 3), (0, 0)} and (0, 3) in copies


def test_short_forms(tmp_path):
    pipeline = read(tmp_path, "inputs: [a.txt]\noutput: b.txt\n")
    assert [(each.name, each.files) for each in pipeline.data_sets] == [("input", "a.txt")]
    assert pipeline.output is not None and pipeline.output.files == "b.txt"
    assert pipeline.steps == ()
    (chats,) = read(tmp_path, "inputs: [{files: a.jsonl, text_template: '{a.b}'}]").data_sets
    assert chats.text.text_template == "{a.b}"


def test_settings_of_stores(tmp_path):
    pipeline = read(tmp_path, "output: {files: t@2, format: store, vocab_file: v, level: sentence}")
    assert pipeline.output is not None
    assert pipeline.output.store == StoreSettings(vocab_file="v", level="sentence")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("inputs: [", "not readable as YAML"),
        ("- a", "the file is"),
        ("", "the file is empty; it must be a mapping with inputs, preset,"),
        ("inputs: [a, b", "while parsing a flow sequence from line 1: did not find expected"),
        ("input: a", "has no key 'input' (did you mean inputs?); there are inputs, preset,"),
        ("inputs: a", "inputs is 'a'; it must be a list"),
        ("inputs: [a, b]", "input 1 has no name"),
        ("inputs: [{name: a}]", "has no files"),
        ("inputs: [{name: a, file: b}]", "input 1 has no key 'file'"),
        ("inputs: [{name: a b, files: b}]", "name is 'a b'"),
        ("inputs: [{files: b, weight: -1}]", "weight is -1"),
        ("inputs: [{files: b, weight: yes}]", "input 1: weight is 'yes'; it must be a number"),
        ("inputs: [{files: [[1]]}]", "line 1: input 1: files is [1]; it must be a string"),
        ("inputs: [{files: b, id_field: [7]}]", "input 1: id_field is [7]; it must be a string"),
        ("inputs: [{files: b, weight: 2}]", "need exactly one step mix; there are 0"),
        (
            "inputs: [{files: b, weight: 2}]\nsteps: [mix: {epochs: {input: 1}}]",
            "both have weights",
        ),
        ("steps: [{a: 1, b: 2}]", "is neither a name"),
        ("steps: [lenght]", "step 'lenght' is unknown (did you mean length?); the steps are c4"),
        (
            "inputs: [a]\nsteps:\n  - repair\n  - lenght: {min_words: 1}",
            "line 4: step 'lenght' is unknown (did you mean length?)",
        ),
        ("preset: refinedwb", "no preset 'refinedwb' (did you mean refinedweb?); there are c4"),
        (
            "preset: c4\nparameters: {langauge: {}}",
            "for 'langauge' (did you mean language?); the steps of preset c4 are c4",
        ),
        ("steps: [length: {min_word: 1}]", "step length has no parameter 'min_word'"),
        (
            "steps: [length: {min_words: [3]}]",
            "line 1: step length: min_words is [3]; a number, 0 or more, is allowed",
        ),
        ("steps: [repair: {encoding: nope}]", "encoding is 'nope'; it must be true or false"),
        ("steps: [url_filter: {soft_words: [[1]]}]", "soft_words is [1]; it must be a string"),
        ("steps: [url_filter: {url_field: {3: 4}}]", "url_field is {3: 4}; it must be a string"),
        ("preset: c4\npreset: gopher", "line 2: the key 'preset' "),
        ("steps:\n- length:\n    min_words: 3\n    min_words: 4", "line 4: the key 'min_words'"),
        ("steps: [length: 5]", "its parameters are 5"),
        ("steps: [length: {min_words: 5, max_words: 4}]", "step length: min_words is 5"),
        ("inputs: [a]\nsteps:\noutput: b", "line 2: steps is None; it must be a list"),
        ("inputs: [a]\nsteps: []\noutput: b", "line 2: steps is (); it must not be empty"),
        ("steps: [length: {min_words: 010}]", "min_words is '010'; a number, 0 or more"),
        ("steps: [length: {min_words: 1:30}]", "min_words is '1:30'; a number, 0 or more"),
        ("steps: [length: {min_words: .inf}]", "min_words is inf; it must be a finite number"),
        (f"steps: [length: {{min_words: [{'a,' * 999}]}}]", "; a number, 0 or more, is allowed"),
        ("output: {format: lines}", "output has no files"),
        ("output: {files: a, format: xml}", "format is 'xml'"),
        ("output: {files: a, split: 1}", "output has no key 'split'"),
        ("output: {files: a, split_sentences: 1}", "split_sentences is 1"),
        ("output: {files: a, append_eod: true}", "append_eod needs `output_format=store`"),
        ("output: {files: a, format: store, level: x}", "level is 'x'; it must be one of"),
    ],
)
def test_what_is_refused(tmp_path, content, sentence):
    with pytest.raises(ValueError, match=r"p\.yaml: ") as caught:
        read(tmp_path, content)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_text_alone_stands_for_a_list(tmp_path):
    (step,) = read(tmp_path, "steps: [url_filter: {soft_words: casino}]").steps
    assert step.soft_words == ("casino",)


def test_flags_of_steps():
    values = ["repair length:min_words=3,max_words=9", "a:b=[x,y],c=1.5"]
    assert parse_step_flags(values) == [
        {"repair": {}},
        {"length": {"min_words": 3, "max_words": 9}},
        {"a": {"b": ["x", "y"], "c": 1.5}},
    ]
    values = ["""safety:words=[viagra, casino bonus] a:b="x, y",c={d: 'it''s ]'}  e:f=don't g"""]
    assert parse_step_flags(values) == [
        {"safety": {"words": ["viagra", "casino bonus"]}},
        {"a": {"b": "x, y", "c": {"d": "it's ]"}}},
        {"e": {"f": "don't"}},
        {"g": {}},
    ]
    (step,) = parse_steps(parse_step_flags(["length:min_words=3"]))
    assert step.min_words == 3
    for value, sentence in (
        ("length:3", "'3' is not of the form PARAMETER=VALUE"),
        ("length:min_words=3,min_words=4", "twice"),
        ("a,b", "; a space separates steps"),
        ("length:min_words=[", "not readable as YAML"),
    ):
        with pytest.raises(ValueError) as caught:
            parse_step_flags([value])
        assert sentence in str(caught.value)


def test_flags_of_inputs(tmp_path):
    odd = tmp_path / "a=b.txt"
    odd.write_text("one\n")
    entries = ["wiki=a,b", f"web=c*,{odd},d"]
    data_sets = parse_inputs(entries, TEXT, "key")
    assert [(each.name, each.files) for each in data_sets] == [
        ("wiki", "a,b"),
        ("web", f"c*,{odd},d"),
    ]
    assert data_sets[0].id_field == "key"
    assert [(each.name, each.files) for each in parse_inputs(["a,b"], TEXT, None)] == [
        ("input", "a,b")
    ]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_steps_that_are_there(name):
    missing = {step for step, _ in PRESETS[name]} - set(steps_by_name())
    assert not missing
    made = [step.name for step in preset_steps(name, SOURCES.get(name, ()))]
    needing_files = {"perplexity", "classifier"}
    assert made == [step for step, _ in PRESETS[name] if step not in needing_files]


def test_a_preset_of_sources(tmp_path):
    content = """
inputs:
  - {name: web, files: w.wet}
  - {name: web2, files: w2.wet}
  - {name: github, files: r.tar.gz, format: code}
  - {name: books, files: b.epub}
  - {name: notes, files: n.txt}
preset: llama
sources: {web: commoncrawl, web2: commoncrawl, notes: null}
parameters:
  perplexity: {reference: wiki.txt, max_percentile: 30}
  contained_duplicates: {ngram_size: 9}
steps: [privacy]
"""
    steps = read(tmp_path, content).steps
    assert [(step.name, step.data_sets) for step in steps] == [
        ("line_duplicates", ("web", "web2")),
        ("language", ("web", "web2")),
        ("perplexity", ("web", "web2")),  # but no classifier: there is no model
        ("licence", ("github",)),
        ("code_header", ("github",)),
        ("code_quality", ("github",)),
        ("exact_duplicates", ("github",)),
        ("contained_duplicates", ("books",)),
        ("privacy", ()),
    ]
    assert steps[2].max_percentile == 30
    assert (steps[7].ngram_size, steps[7].max_containment) == (9, 0.9)


def test_steps_without_their_files_are_named(tmp_path, caplog):
    caplog.set_level("WARNING")
    read(tmp_path, "inputs: [{name: commoncrawl, files: a}]\npreset: llama")
    assert "preset llama: the step classifier is left out, as it needs model_file; s" in caplog.text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("inputs: [a]\npreset: llama", "data set input is of source 'input'; it must be one of co"),
        ("preset: llama", "preset llama needs data sets named after its sources: commoncrawl, c4"),
        ("inputs: [a]\npreset: llama\nsources: {b: c4}", "sources has 'b'; the data sets are inp"),
        ("inputs: [a]\npreset: c4\nsources: {input: c4}", "sources are for the presets llama"),
        (
            "inputs: [a]\npreset: c4\nsources: [c4]",
            "line 3: sources is ['c4']; it must be a mapping",
        ),
        ("inputs: [a]\nparameters: {c4: {}}", "parameters is for a preset, and there is none"),
        ("preset: c4\nparameters: {c5: {}}", "are for 'c5'; the steps of preset c4 are c4, line_d"),
        (
            "inputs: [{name: c4, files: a}]\npreset: llama\nparameters: {books.language: {}}",
            "are for 'books.language' (did you mean",
        ),
        ("preset: c4\nparameters: {c4: 3}", "line 2: parameters: c4 is 3; it must be a mapping"),
        ("preset: c4\nparameters: {c4: {min: 3}}", "step c4 has no parameter 'min'"),
        (
            "inputs: [{name: c4, files: a}]\npreset: llama\nparameters: {c4: {data_sets: [c4]}}",
            "parameters of c4 have data_sets; preset llama takes them from sources",
        ),
        ("preset: [c4]", "preset is ['c4']; it must be a string"),
    ],
)
def test_wrong_words_about_presets(tmp_path, content, sentence):
    with pytest.raises(ValueError, match=r"p\.yaml: ") as caught:
        read(tmp_path, content)
    assert sentence in str(caught.value)


def test_parameters_are_for_all_steps_of_a_name_or_for_that_of_a_source():
    parameters = {"language": {"num_characters": 500}, "c4.language": {"min_score": 0.9}}
    steps = preset_steps("llama", ["commoncrawl", "c4"], parameters=parameters)
    found = [
        (step.data_sets, step.num_characters, step.min_score)
        for step in steps
        if step.name == "language"
    ]
    assert found == [(("commoncrawl",), 500, 0.5), (("c4",), 500, 0.9)]


def test_a_file_imports_only_modules_that_are_allowed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "evil_steps.py").write_text("raise SystemExit('it ran')")
    for step in ("evil_steps.Calm", "evil_steps.Calm: {a: 1}"):
        for allowed in ([], ["evil", "steps", "evil_steps.Calm"]):
            (tmp_path / "p.yaml").write_text(f"steps: [length, {{{step}}}]")
            if ":" not in step:
                (tmp_path / "p.yaml").write_text(f"steps: [length, {step}]")
            with pytest.raises(ValueError, match=r"p\.yaml.*`allow_steps_from=evil_steps` allows"):
                read_pipeline_file("p.yaml", TEXT, allow_steps_from=allowed)
        with pytest.raises(SystemExit, match="it ran"):
            read_pipeline_file("p.yaml", TEXT, allow_steps_from=["evil_steps"])
    (tmp_path / "p.yaml").write_text("steps: [bert_data.curation.steps.gopher.Length]")
    assert [each.name for each in read_pipeline_file("p.yaml", TEXT).steps] == ["length"]


@pytest.mark.parametrize(
    ("flag", "parameters"),
    [
        ("model_score:label=1", {"label": "1"}),
        ("model_score:label=010", {"label": "010"}),
        ("model_score:label=1e3", {"label": "1e3"}),
        ("language:languages=[no,en]", {"languages": ("no", "en")}),
        ("field_values:field=2024,allowed=[2024,1.50,2024-01-02,true,on]",
         {"field": "2024", "allowed": ("2024", "1.50", "2024-01-02", "true", "on")}),
        ("extract:comments=true,alt_texts=False", {"comments": True, "alt_texts": False}),
        ("length:min_words=3", {"min_words": 3}),
    ],
)  # fmt: skip
def test_values_are_what_the_parameter_wants(flag, parameters):
    (entry,) = parse_step_flags([flag])
    ((name, written),) = entry.items()
    if name == "model_score":
        written["model"] = "m"
    step = make_step(name, written)
    for parameter, value in parameters.items():
        converted = getattr(step, parameter)
        assert converted == value and type(converted) is type(value)
