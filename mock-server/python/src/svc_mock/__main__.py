"""Runs the mock: `python -m svc_mock --port-base 4010`."""

import subprocess
import sys

from svc_mock.program import find_program

if __name__ == "__main__":
    try:
        sys.exit(subprocess.run([find_program(), *sys.argv[1:]], check=False).returncode)
    except KeyboardInterrupt:
        sys.exit(130)
