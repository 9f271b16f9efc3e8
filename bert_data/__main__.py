"""Run a command: `python -m bert_data NAME --flag=value`, as `bert-data NAME --flag=value`."""

import sys

from bert_data.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
