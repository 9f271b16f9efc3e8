"""The programming languages of files, by their names.

src/main.rs  ->  "Rust"        Makefile  ->  "Makefile"        logo.png  ->  None
"""

import posixpath

_LANGUAGES = {
    "Python": "py pyi pyx", "JavaScript": "js mjs cjs jsx", "TypeScript": "ts tsx", "Java": "java",
    "C": "c h", "C++": "cc cpp cxx hh hpp hxx", "C#": "cs", "Go": "go", "Rust": "rs", "Ruby": "rb",
    "PHP": "php", "Swift": "swift", "Kotlin": "kt kts", "Scala": "scala", "Haskell": "hs",
    "OCaml": "ml mli", "F#": "fs fsx", "Erlang": "erl", "Elixir": "ex exs", "Clojure": "clj cljs",
    "Lua": "lua", "Perl": "pl pm", "R": "r", "Julia": "jl", "Dart": "dart", "Objective-C": "m mm",
    "Shell": "sh bash zsh", "PowerShell": "ps1", "SQL": "sql", "HTML": "html htm", "CSS": "css",
    "SCSS": "scss sass", "Vue": "vue", "Markdown": "md markdown", "reStructuredText": "rst",
    "TeX": "tex", "Makefile": "mk", "CMake": "cmake", "YAML": "yaml yml", "JSON": "json",
    "TOML": "toml", "XML": "xml", "Protocol Buffer": "proto", "Fortran": "f f90 f95 for",
    "Assembly": "asm s", "CUDA": "cu cuh", "Verilog": "v sv", "VHDL": "vhd vhdl", "Zig": "zig",
    "Nim": "nim", "Groovy": "groovy gradle", "Pascal": "pas", "Common Lisp": "lisp",
    "Scheme": "scm", "Emacs Lisp": "el", "Prolog": "pro", "Solidity": "sol", "GraphQL": "graphql",
    "Tcl": "tcl",
}  # fmt: skip
_BY_ENDING = {f".{each}": name for name, endings in _LANGUAGES.items() for each in endings.split()}
_BY_NAME = {"makefile": "Makefile", "dockerfile": "Dockerfile", "cmakelists.txt": "CMake"}


def code_language(path: str) -> str | None:
    """Return the language that a file's name says it is in, None if it says nothing."""
    name = posixpath.basename(path).lower()
    return _BY_NAME.get(name) or _BY_ENDING.get(posixpath.splitext(name)[1])
