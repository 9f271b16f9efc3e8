"""Training from first to last step, restarts, and what is refused."""

import dataclasses
import json
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import Checkpoint, check_same_model, write_config
from bert_data.training.distribution import MakeBatches
from bert_data.training.evaluation import Evaluator, evaluate, load_pretrained
from bert_data.training.loop import train
from bert_data.training.model import PretrainingModel
from bert_data.training.run_output import HeldOutData
from bert_data.training.steps import TrainingReport
from bert_data.training.training_config import OptimizerConfig, TrainingConfig
from tests.training.tiny import batches_of, check_equal_weights, random_batch, tiny_config

COVERS = ("training/steps", "training/training_config")


EXAMPLES = random_batch(num_examples=20)


def config(folder: Path | str, **changes: object) -> TrainingConfig:
    values = {
        "output_dir": str(folder),
        "num_train_steps": 12,
        "batch_size": 8,
        "learning_rate": 1e-2,
        "num_warmup_steps": 2,
        "save_checkpoints_steps": 5,
        "log_every_steps": 4,
    }
    return TrainingConfig(**{**values, **changes})


def small(**changes: object) -> BertConfig:
    return tiny_config(**{"num_hidden_layers": 1, **changes})


def run(
    folder: Path | str,
    bert: BertConfig | None = None,
    batches: MakeBatches | None = None,
    held_out: HeldOutData | None = None,
    **changes: object,
) -> tuple[PretrainingModel, list[TrainingReport]]:
    """Trains with the settings of `config`; returns the model and the reports."""
    reports: list[TrainingReport] = []
    model = train(
        config(folder, **changes), bert or small(), batches or batches_of(EXAMPLES, 8),
        held_out=held_out, observers=[reports.append],
    )  # fmt: skip
    return model, reports


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TrainingReport]]:
    """The folder and the reports of a run without changes, but for one checkpoint fewer."""
    folder = tmp_path_factory.mktemp("plain")
    return folder, run(folder, keep_checkpoints=2)[1]


def losses_of(reports: list[TrainingReport]) -> list[float]:
    return [float(loss) for report in reports for loss in report.losses]


@pytest.mark.slow
def test_overfits_fifty_examples(tmp_path: Path) -> None:
    """Each word follows from its neighbours here, so all of them can be learned."""
    examples = random_batch(num_examples=50, width=10, seed=4)
    bert = tiny_config(hidden_size=32, intermediate_size=64, initializer_range=0.1)
    model, _ = run(
        tmp_path, bert, batches_of(examples, 50), num_train_steps=400, batch_size=50,
        num_warmup_steps=20, log_every_steps=200, save_checkpoints_steps=400,
    )  # fmt: skip
    results = evaluate(model, [examples])
    assert results["masked_lm_accuracy"] > 0.95
    assert results["next_sentence_accuracy"] > 0.95


@pytest.mark.slow
def test_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    """In float16, where the scale of the loss must be remembered, too."""
    bert = small(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2)
    _, straight = run(tmp_path / "a", bert, mixed_precision="float16")

    def stop(report: TrainingReport) -> None:
        if report.step > 5:
            raise KeyboardInterrupt

    # It ends at the checkpoint of step 5: the files of a run that was killed after it.
    broken = config(tmp_path / "b", mixed_precision="float16")
    with pytest.raises(KeyboardInterrupt):
        train(broken, bert, batches_of(EXAMPLES, 8), observers=[stop])
    _, again = run(tmp_path / "b", bert, mixed_precision="float16")
    assert losses_of(again) == losses_of(straight)[5:]
    check_equal_weights(*(load_pretrained(str(tmp_path / name)) for name in "ab"))


@pytest.mark.slow
def test_steps_a_call_change_nothing(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path
) -> None:
    all_reports = [run(tmp_path, iterations_per_loop=1)[1], plain[1]]
    for reports in all_reports:
        assert [report.step for report in reports] == [1, 4, 5, 8, 10, 12]
    all_losses = list(map(losses_of, all_reports))
    assert all_losses[0] == all_losses[1]
    assert len(all_losses[0]) == 12
    # And reports say what was read.
    rows = np.arange(12 * 8) % 20
    num_tokens = sum(report.num_tokens for report in reports)
    assert num_tokens == EXAMPLES["input_mask"][rows].sum()
    assert sum(report.num_examples for report in reports) == 12 * 8
    assert reports[1].learning_rate == pytest.approx(1e-2 * (1 - 3 / 12))
    assert reports[1].seconds_left > 0 and reports[-1].seconds_left == 0


@pytest.mark.slow
def test_bfloat16_gives_nearly_the_same(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path
) -> None:
    reports = run(tmp_path, mixed_precision="bfloat16")[1]
    all_losses = [losses_of(plain[1]), losses_of(reports)]
    assert all_losses[0] != all_losses[1]
    assert all_losses[0] == pytest.approx(all_losses[1], rel=0.1)


@pytest.mark.slow
def test_batches_of_one_update_are_one_large_batch(tmp_path: Path) -> None:
    """Though their numbers of predictions differ; and an update in parts resumes exactly."""
    settings = OptimizerConfig(optimizer="lamb")
    assert len(set(EXAMPLES["masked_lm_weights"].reshape(5, -1).sum(1))) > 1
    models, all_losses = [], []
    for size, parts in ((8, 1), (2, 4)):
        changes = {"batch_size": size, "num_accumulation_steps": parts, "optimizer": settings}
        batches = batches_of(EXAMPLES, size)
        model, reports = run(tmp_path / str(size), batches=batches, **changes)
        models.append(model)
        all_losses.append(losses_of(reports))
        assert sum(report.num_examples for report in reports) == 12 * 8
        assert reports[1].learning_rate == pytest.approx(1e-2 * (1 - 3 / 12))
    assert all_losses[0] == pytest.approx(all_losses[1], rel=1e-4)
    assert len(all_losses[1]) == 12
    check_equal_weights(*models, rtol=1e-3, atol=1e-4)
    for each in tmp_path.glob("2/model.ckpt-1[0-2]*"):
        each.unlink()
    resumed, again = run(tmp_path / "2", batches=batches, **changes)
    assert losses_of(again) == all_losses[1][5:]
    check_equal_weights(models[1], resumed)


@pytest.mark.slow
def test_the_folder_holds_what_is_needed_later(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path
) -> None:
    shutil.copytree(plain[0], tmp_path, dirs_exist_ok=True)
    names = sorted(os.listdir(tmp_path))
    assert [name for name in names if name.endswith("index")] == [
        "model.ckpt-10.index",
        "model.ckpt-12.index",
    ]
    assert json.loads((tmp_path / "bert_config.json").read_text())["hidden_size"] == 8
    assert any(name.startswith("events.") for name in names)
    (tmp_path / "checkpoint").unlink()  # the checkpoints alone are enough
    model, reports = run(tmp_path)
    assert not reports  # all steps were done
    # Another run starts from its weights; in its first step the rate is 0.
    start = {"init_checkpoint": str(tmp_path), "num_train_steps": 1, "num_warmup_steps": 1}
    other, reports = run(tmp_path / "b", **start)
    check_equal_weights(model, other)
    assert [report.step for report in reports] == [1]


@pytest.mark.slow
def test_a_renamed_checkpoint_is_refused(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path
) -> None:
    shutil.copytree(plain[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "checkpoint").unlink()
    for each in tmp_path.glob("model.ckpt-12.*"):
        each.rename(tmp_path / each.name.replace("-12", "-30"))
    with pytest.raises(ValueError, match=r"ckpt-30 has done 12 steps, and not those of its name"):
        run(tmp_path, num_train_steps=40)


def test_missing_weights_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no checkpoint '.*none'"):
        run(tmp_path / "run", init_checkpoint=str(tmp_path / "none"))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_evaluations_leave_the_training_as_it_is(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path
) -> None:
    """And the log of metrics has each step once, with the results where one was due."""
    held_out = HeldOutData(make_batches=lambda: [random_batch(seed=7)], description="seed 7")
    model, again = run(tmp_path / "b", held_out=held_out, eval_every_steps=3)
    assert losses_of(again) == losses_of(plain[1])

    log = tmp_path / "b" / "metrics.jsonl"
    metrics = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in metrics] == [1, 3, 4, 5, 6, 8, 9, 10, 12]
    results = {m["step"]: m["eval_masked_lm_loss"] for m in metrics if "eval_loss" in m}
    assert list(results) == [3, 6, 9, 12]
    best = min(results, key=results.__getitem__)
    assert Path(tmp_path / "b" / "best" / f"model.ckpt-{best}.index").exists()
    expected = evaluate(model, [random_batch(seed=7)])
    assert results[12] == pytest.approx(expected["masked_lm_loss"], rel=1e-6)
    assert metrics[-1]["gradient_norm"] == pytest.approx(again[-1].gradient_norm, rel=1e-6)
    assert metrics[0].keys() == {
        "step", "loss", "masked_lm_loss", "next_sentence_loss", "learning_rate", "gradient_norm",
    }  # fmt: skip

    text, files = log.read_text(), sorted(os.listdir(tmp_path / "b" / "best"))
    for each in tmp_path.glob("b/model.ckpt-1*"):
        each.unlink()  # as if it had been killed after step 5
    run(tmp_path / "b", held_out=held_out, eval_every_steps=3)
    metrics_again = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in metrics_again] == [1, 3, 4, 5, 6, 8, 9, 10, 12]
    losses = [[line["loss"] for line in lines] for lines in (metrics, metrics_again)]
    assert losses[0] == losses[1] and log.read_text() != text  # the pace differs
    assert sorted(os.listdir(tmp_path / "b" / "best")) == files


@pytest.mark.slow
def test_a_first_evaluation_that_is_not_a_number_is_not_the_best(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", logger="absl")
    monkeypatch.setattr(Evaluator, "evaluate", lambda *_: {"masked_lm_loss": math.nan})
    one_step = {"num_train_steps": 1, "num_warmup_steps": 0, "eval_every_steps": 1}
    run(tmp_path, held_out=HeldOutData(make_batches=list), **one_step)
    assert "(not kept as the best: masked_lm_loss is not a number)" in caplog.text
    assert not (tmp_path / "best" / "checkpoint").exists()


@pytest.mark.slow
def test_a_run_continues_another_in_a_folder_of_its_own(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = str(plain[0] / "model.ckpt-10")
    before = Checkpoint(source)
    for what, first_step in (("steps", 11), ("moments", 1), ("weights", 1)):
        _, reports = run(
            tmp_path / what, continue_from=source, continue_with=what,
            num_train_steps=first_step, num_warmup_steps=1 if first_step == 1 else 0,
            num_schedule_steps=12,
        )  # fmt: skip
        assert [report.step for report in reports] == [first_step]
        rate = 1e-2 * (1 - 10 / 12) if what == "steps" else 0
        assert reports[0].learning_rate == pytest.approx(rate)
        after = Checkpoint(str(tmp_path / what))
        table, slot = "bert/embeddings/word_embeddings", "bert/embeddings/word_embeddings/adam_v"
        # The rate of a first step with a warm-up is 0, so weights do not change.
        assert np.array_equal(before.read(table), after.read(table)) == (what != "steps")
        grown = np.linalg.norm(after.read(slot)) / np.linalg.norm(before.read(slot))
        assert (grown < 0.9) == (what == "weights")
    assert "continue_from was not set and is" in caplog.text
    with pytest.raises(ValueError, match="has done 12 steps, and num_train_steps is 5: raise it"):
        run(tmp_path / "x", continue_from=str(plain[0]), num_train_steps=5)
    with pytest.raises(ValueError, match="hidden_size is 8, not 16: use the model's own"):
        run(tmp_path / "y", small(hidden_size=16), continue_from=source)
    with pytest.raises(ValueError, match=r"there is no checkpoint .*none"):
        run(tmp_path / "y", continue_from=str(tmp_path / "none"))
    assert not (tmp_path / "y").exists()
    run(tmp_path / "steps", continue_from="gone", num_train_steps=11)  # it has its own


def test_the_current_folder_is_not_that_of_a_missing_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_config("", small(hidden_size=16))
    with pytest.raises(ValueError, match="there is no checkpoint 'nosuch'"):
        run(tmp_path / "x", continue_from="nosuch")
    with pytest.raises(ValueError, match=r"^\. holds .* hidden_size is 16, not 8: use"):
        check_same_model("model.ckpt-40", small(), "use its own")


@pytest.mark.slow
def test_another_configuration_is_refused(
    plain: tuple[Path, list[TrainingReport]], tmp_path: Path
) -> None:
    shutil.copytree(plain[0], tmp_path, dirs_exist_ok=True)
    with pytest.raises(ValueError, match="whose hidden_size is 8, not 16: use another output_dir"):
        run(tmp_path, small(hidden_size=16), num_train_steps=20)
    run(tmp_path, small(hidden_dropout_prob=0.1))
    (tmp_path / "bert_config.json").unlink()
    with pytest.raises(ValueError, match="in the model's configuration and"):
        run(tmp_path, small(hidden_size=16), num_train_steps=20)
    assert not (tmp_path / "bert_config.json").exists()


@pytest.mark.slow
def test_data_that_end_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the data ended before num_train_steps"):
        run(tmp_path, batches=batches_of(EXAMPLES, 8, repeat=False))


@pytest.mark.slow
def test_a_loss_that_is_not_a_number_ends_training(tmp_path: Path) -> None:
    broken = {**EXAMPLES, "masked_lm_weights": EXAMPLES["masked_lm_weights"].copy()}
    broken["masked_lm_weights"][17] = np.nan  # in the third batch
    with pytest.raises(ValueError, match="the loss of step 3 is not a number"):
        run(tmp_path, batches=batches_of(broken, 8), save_checkpoints_steps=2)
    assert Path(tmp_path / "model.ckpt-2.index").exists()
    assert not Path(tmp_path / "model.ckpt-4.index").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_schedule_steps": 11}, "num_schedule_steps is 11; 12 to 2,147,483,647 is"),
        ({"continue_with": "moments"}, "is moments, but `continue_from` names no run"),
        ({"continue_from": "a", "init_checkpoint": "b"}, "^`init_checkpoint` and `continue_from`"),
        ({"output_dir": ""}, "output_dir is ''; it must not be empty"),
    ],
)
def test_what_is_not_allowed_is_told(change: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        config(Path("x"), **change)


@pytest.mark.slow
def test_one_run_at_a_time_trains_in_a_folder(tmp_path: Path) -> None:
    batches, refused = batches_of(EXAMPLES, 8), []

    def train_there(report: TrainingReport) -> None:
        with pytest.raises(OSError, match="another run is training in this folder") as error:
            train(config(tmp_path), small(hidden_size=16), batches)
        refused.append(error.value.filename)

    train(config(tmp_path, num_train_steps=4), small(), batches, observers=[train_there])
    assert refused == [str(tmp_path)] * 2  # of the first step, and of all
    assert json.loads((tmp_path / "bert_config.json").read_text())["hidden_size"] == 8
    assert not (tmp_path / ".model.ckpt.lock").exists()
    run(tmp_path, num_train_steps=4)  # later ones may


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write to output_dir"):
        run(tmp_path / "file" / "x")


def test_a_configuration_that_says_the_same_stays(tmp_path: Path) -> None:
    mine = tmp_path / "bert_config.json"
    mine.write_text(json.dumps(dataclasses.asdict(small())))
    before = mine.read_bytes()
    write_config(str(tmp_path), small())
    assert mine.read_bytes() == before
    write_config(str(tmp_path), small(hidden_dropout_prob=0.5))
    assert BertConfig.from_json_file(str(mine)).hidden_dropout_prob == 0.5
