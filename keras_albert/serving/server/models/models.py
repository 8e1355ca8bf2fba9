"""Keeps models loaded as their folders say: new versions in, old ones out."""

import asyncio
import contextlib
import logging
from concurrent.futures import ThreadPoolExecutor

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.server.models.config import find_versions
from keras_albert.serving.server.models.loading import open_version
from keras_albert.serving.server.models.versions import ModelVersions
from keras_albert.serving.server.models.versions import not_found

log = logging.getLogger(__name__)


class Models:
    """The models of a server.

    Must be made and used inside a running event loop.

    Args:
        configs: list of `ModelConfig`.
        metrics: `Metrics`.
        poll_seconds: float. How often the folders are looked at.
        load_retries: int. How often a version that does not load is tried
            again. Not at the start, where it is an error at once.
        retry_seconds: float. How long to wait before.
    """

    def __init__(
        self,
        configs,
        metrics,
        poll_seconds=1.0,
        load_retries=5,
        retry_seconds=60.0,
    ):
        self._metrics = metrics
        self._poll_seconds = poll_seconds
        self._load_retries = load_retries
        self._retry_seconds = retry_seconds
        self._models = {c.name: ModelVersions(c) for c in configs}
        # Versions load one after the other, as each takes memory and cores.
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="load")
        self._tasks = set()
        self._watch = None
        # Two lists of models that come at a time are taken one by one.
        self._replacing = asyncio.Lock()

    @property
    def names(self):
        """Names of the models."""
        return list(self._models)

    def _are_served(self, model):
        """Whether these versions are still the ones of their model."""
        return self._models.get(model.config.name) is model

    async def start(self):
        """Loads what is there, then keeps looking.

        Raises:
            ValueError: if a version does not load, or a model has none.
        """
        for model in self._models.values():
            try:
                found = await self._find(model.config.folder)
            except OSError as error:
                raise ValueError(
                    f"The folder of the model {model.config.name} cannot be "
                    f"read: {error}. Give the folder that holds its versions."
                ) from error
            to_load, _ = model.plan(found)
            if not to_load:
                raise ValueError(
                    f"No version of the model {model.config.name} in "
                    f"{model.config.folder}."
                )
            for version in to_load:
                await self._load(version, retries=0)
                if version.error is not None:
                    raise ValueError(
                        f"Version {version.number} of the model "
                        f"{version.model_name} in {version.folder} cannot be "
                        f"served. {version.error}"
                    )
        self._watch = asyncio.create_task(self._keep_looking())

    async def _keep_looking(self):
        while True:
            await asyncio.sleep(self._poll_seconds)
            for model in list(self._models.values()):
                await self._look(model)

    async def _look(self, model):
        try:
            found = await self._find(model.config.folder)
        except OSError as error:
            # A share that is away for a moment: go on with what is loaded.
            log.warning("%s cannot be read: %s", model.config.folder, error)
            return
        if not self._are_served(model):  # replaced meanwhile
            return
        to_load, to_unload = model.plan(found)
        for version in to_load:
            self._spawn(self._load_and_look(model, version))
        for version in to_unload:
            self._start_unloading(version)

    async def _load_and_look(self, model, version):
        await self._load(version, self._load_retries)
        if self._are_served(model):
            await self._look(model)  # the one before may leave now
        else:
            self._retire(model)

    def _retire(self, model):
        """Unloads all versions of a model that is not served any more."""
        for version in model.all():
            if version.state == "AVAILABLE":
                self._start_unloading(version)

    def _start_unloading(self, version):
        version.state = "UNLOADING"
        self._spawn(self._unload(version))

    def _spawn(self, coroutine):
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _find(self, folder):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, find_versions, folder)

    async def _load(self, version, retries):
        loop = asyncio.get_running_loop()
        version.state = "LOADING"
        for attempt in range(retries + 1):
            try:
                version.model = await loop.run_in_executor(
                    self._loader, open_version, version, self._metrics
                )
            except Exception as error:
                if not isinstance(error, ServingError):
                    error = ServingError("INTERNAL", repr(error))
                log.error(
                    "Version %d of %s does not load: %s",
                    *(version.number, version.model_name, error),
                )
                if attempt == retries:
                    version.error = error
                    version.state = "END"
                    return
                await asyncio.sleep(self._retry_seconds)
            else:
                version.state = "AVAILABLE"
                log.info("Serves %s/%d.", version.model_name, version.number)
                return

    async def _unload(self, version):
        version.state = "UNLOADING"
        await version.drained()
        model, version.model = version.model, None
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._loader, model.close)
        version.state = "END"
        log.info("Unloaded %s/%d.", version.model_name, version.number)

    @contextlib.contextmanager
    def use(self, name, number=None, label=None):
        """Holds the version that a request asks for.

        Args:
            name: string.
            number: int, a version, or `None` for the latest.
            label: string that stands for a version, or `None`.

        Yields:
            `Version`.

        Raises:
            ServingError: NOT_FOUND, or INVALID_ARGUMENT for an unknown label.
        """
        if not name:
            raise invalid("ModelSpec has no name specified.")
        model = self._models.get(name)
        if label is not None:
            labels = model.config.labels if model else {}
            if label not in labels:
                raise invalid(f"Unrecognized servable version label: {label}")
            number = labels[label]
        if model is None:
            raise not_found(name, number)
        with model.find(number).use() as version:
            yield version

    def versions(self, name, number=None):
        """Lists what became of a model's versions.

        Args:
            name: string.
            number: int, or `None` for all.

        Returns:
            List of `Version`.

        Raises:
            ServingError: NOT_FOUND.
        """
        model = self._models.get(name)
        versions = model.all() if model else []
        if number is not None:
            versions = [v for v in versions if v.number == number]
            if not versions:
                raise ServingError(
                    "NOT_FOUND",
                    f"Could not find version {number} of model {name}",
                )
        if not versions:
            raise ServingError(
                "NOT_FOUND", f"Could not find any versions of model {name}"
            )
        return versions

    async def replace(self, configs):
        """Takes other models, or other versions and labels of them.

        All new models are loaded before anything changes. Who asked may go
        away meanwhile.

        Args:
            configs: list of `ModelConfig`, all that shall be served.

        Raises:
            ServingError: FAILED_PRECONDITION if a new model does not load;
                then all stays as it was.
        """
        await asyncio.shield(self._spawn(self._replace(configs)))

    async def _replace(self, configs):
        async with self._replacing:
            before = self._models
            after = {config.name: before.get(config.name) for config in configs}
            new = []
            try:
                for config in configs:
                    model = after[config.name]
                    if model is None or model.config.folder != config.folder:
                        new.append(ModelVersions(config))
                        after[config.name] = new[-1]
                        await self._load_new(new[-1])
            except BaseException:
                for model in new:
                    self._retire(model)
                raise
            self._models = after
            for config in configs:
                after[config.name].config = config
            for model in before.values():
                if not self._are_served(model):
                    self._retire(model)
        for model in list(after.values()):
            await self._look(model)

    async def _load_new(self, model):
        try:
            to_load, _ = model.plan(await self._find(model.config.folder))
        except OSError as error:
            raise ServingError("FAILED_PRECONDITION", str(error)) from error
        for version in to_load:
            await self._load(version, retries=0)
            if version.error is not None:
                raise ServingError(
                    "FAILED_PRECONDITION",
                    f"{version.folder} does not load: {version.error}",
                )

    async def close(self):
        """Stops looking, and unloads all that nobody holds any more."""
        if self._watch:
            self._watch.cancel()
        for task in list(self._tasks):
            task.cancel()
        for model in self._models.values():
            for version in model.all():
                if version.state == "AVAILABLE":
                    await self._unload(version)
        # Beside the loop, which a second Ctrl-C must reach.
        await asyncio.to_thread(self._loader.shutdown, cancel_futures=True)
