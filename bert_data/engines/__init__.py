"""Where work runs: this process or threads, for functions that release the GIL."""
