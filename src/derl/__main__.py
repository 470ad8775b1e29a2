"""`python -m derl` is `derl`."""

import sys

from derl.cli.main import main

sys.exit(main())
