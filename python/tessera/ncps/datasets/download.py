"""Files from elsewhere, kept once they are here."""

from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile
import urllib.request
import zipfile

from tessera._tessera import InvalidArgument


def fetch(url: str, path: str | os.PathLike[str], md5: str | None = None) -> None:
    """Downloads to a file, which is there as a whole or not at all."""
    target = pathlib.Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    part = pathlib.Path(name)
    try:
        with os.fdopen(handle, "wb") as out, urllib.request.urlopen(url) as response:
            while block := response.read(1 << 20):
                out.write(block)
        if md5 is not None and (found := digest(part)) != md5:
            raise InvalidArgument(f"what came from {url} has MD5 {found}, not {md5}: it is not the data set, or damaged")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.md5(file.read(), usedforsecurity=False).hexdigest()


def fetch_and_unzip(url: str, folder: str | os.PathLike[str]) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = pathlib.Path(scratch) / "archive.zip"
        fetch(url, archive)
        with zipfile.ZipFile(archive) as files:
            files.extractall(folder)
