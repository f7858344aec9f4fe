# What the generator of stubs does not see by itself: an exception made in C, and a text.
_core\.__suffix__:
    class Error(RuntimeError):
        """What went wrong: `code` is the command line's (NotFound, InvalidArgument, ...), `message` says what to do."""
        code: str
        message: str

    __version__: str

