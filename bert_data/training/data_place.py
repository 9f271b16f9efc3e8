"""The place in the data, saved and restored by Keras's `fit` with the model's state.

    place = DataPlaceCallback("backup", config)                        config: a ReaderConfig
    batches = read_batches(dataclasses.replace(config, start_batch=place.start_batch))
    model.fit(batches, steps_per_epoch=1000, epochs=10,
              initial_epoch=place.initial_epoch, callbacks=[place])

    backup/epoch-3/model.weights.h5    weights and the optimizer's state after three epochs of `fit`
    backup/epoch-3/place.json          the next batch, and a digest of what is read

The same program, run again, repeats the epoch in which it was interrupted, with the same batches.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

import keras
from absl import logging

from bert_data import storage
from bert_data.reader import ReaderConfig
from bert_data.reader.sources import describe_order, load_batch, save_batch
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run, load_place, save_place
from bert_data.recipes.recipe_source import advance

_NAME = re.compile(r"epoch-(\d+)")
_WEIGHTS, _PLACE = "model.weights.h5", "place.json"


class DataPlaceCallback(keras.callbacks.Callback):
    """Saves weights, the optimizer and the place in the data after each epoch, and restores them.

    An epoch is what `fit` calls so: `steps_per_epoch` batches. Other callbacks keep no state, and
    none beside it may restore the model, as `BackupAndRestore` does.

    Attributes:
      start_batch: the number of the first batch that `fit` is to read.
      initial_epoch: the first epoch that `fit` is to count, from 0.
    """

    def __init__(self, folder: str | os.PathLike[str], data: ReaderConfig | Recipe) -> None:
        """Find what an earlier run saved.

        Args:
          folder: a local one, of this training alone; made if it does not exist.
          data: what is read. A `start_batch` of its own counts only where nothing is saved.

        Raises:
          ValueError: other data were read, or records are to end after a number of epochs; the
            folder is remote.
        """
        super().__init__()
        path = os.fspath(folder)
        if storage.is_remote(path):
            raise ValueError(f"{path} is remote; Keras writes weights to a local folder")
        self._folder = path
        self._run: Run | None = None
        self._order: Mapping[str, Any] = {}
        self.start_batch = 0
        if isinstance(data, Recipe):
            self._run = Run(data)
        elif data.num_epochs is not None:
            raise ValueError(
                f"num_epochs is {data.num_epochs}; it must be None: an epoch of `fit` is"
                " steps_per_epoch batches, and the next one goes on behind them"
            )
        else:
            self._order, self.start_batch = describe_order(data), data.start_batch
        names = storage.list_folder(path) if storage.is_folder(path) else []
        done = [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]
        self.initial_epoch = max(done, default=0)
        self._num_read = self._in_epoch = 0
        self._is_used = self._is_at_end = False
        self._num_updates = 0
        if self.initial_epoch:
            self.start_batch = self._saved_batch(os.path.join(self._saved, _PLACE))

    @property
    def _saved(self) -> str:
        return os.path.join(self._folder, f"epoch-{self.initial_epoch}")

    def _saved_batch(self, path: str) -> int:
        saved = storage.read_object(path)
        try:
            if self._run is None:
                return load_batch(saved, self._order)
            place = load_place(self._run, saved)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        self._is_at_end = place.window == self._run.num_windows
        return place.batch

    def set_model(self, model: keras.Model) -> None:
        """Take the model of a `fit` that has not begun."""
        super().set_model(model)
        self._num_updates = int(model.optimizer.iterations)

    def on_train_begin(self, logs: Any = None) -> None:
        """Restore what was saved."""
        if self._is_used:
            raise ValueError("make a new DataPlaceCallback, and new batches, for each fit")
        self._is_used = True
        self._check_that_no_other_restores()
        if self.initial_epoch:
            self.model.optimizer.build(self.model.trainable_variables)
            self.model.load_weights(os.path.join(self._saved, _WEIGHTS))
            self._num_updates = int(self.model.optimizer.iterations)
            logging.info("continuing from %s, with batch %d", self._saved, self.start_batch)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Check that the first epoch is the one after those that were saved."""
        if self._is_at_end:
            raise ValueError(
                f"the recipe has no batches for epoch {epoch}, counted from 0: call fit with"
                " steps_per_epoch, and for fewer epochs"
            )
        if self._num_read:
            return
        self._check_that_no_other_restores()
        if epoch != self.initial_epoch:
            raise ValueError(
                f"fit begins with epoch {epoch}, but {self.initial_epoch} are done: call it with"
                " initial_epoch=place.initial_epoch"
            )

    def _check_that_no_other_restores(self) -> None:
        if int(self.model.optimizer.iterations) != self._num_updates:
            raise ValueError(
                "another callback has restored the model, but not the place in the data: call fit"
                " with DataPlaceCallback in place of BackupAndRestore, not beside it"
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count."""
        self._in_epoch = batch + 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save the model and the place, and remove what was saved before."""
        self._num_read, self._in_epoch = self._num_read + self._in_epoch, 0
        name = f"epoch-{epoch + 1}"
        with storage.open_folder(os.path.join(self._folder, name)) as partial:
            self.model.save_weights(os.path.join(partial, _WEIGHTS))
            storage.write_json(os.path.join(partial, _PLACE), self._state())
        for other in storage.list_folder(self._folder):
            if _NAME.fullmatch(other) and other != name:
                storage.remove_folder(os.path.join(self._folder, other))

    def _state(self) -> dict[str, Any]:
        if self._run is None:
            return save_batch(self.start_batch + self._num_read, self._order)
        batch = advance(self._run.recipe, self.start_batch, self._num_read)
        place = self._run.place(batch)
        self._is_at_end = place.window == self._run.num_windows
        return save_place(self._run, place)
