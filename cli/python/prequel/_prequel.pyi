from typing import Any, Callable

__version__: str

#: folder, name and text
_DataFile = tuple[str, str, str]

class Session:
    def __init__(self) -> None: ...
    def call(
        self, command: str, arguments: str, data_directories: list[str],
        progress: Callable[[int, int], Any] | None = None,
    ) -> tuple[str, str, list[_DataFile]]: ...
    def predict_many(self, arguments: str, columns: str, data_directories: list[str]) -> str: ...
    def report(
        self, command: str, arguments: str, data_directories: list[str], document: str
    ) -> str: ...

def write_data(files: list[_DataFile], directory: str) -> None: ...
def arguments_schema(command: str) -> str: ...
