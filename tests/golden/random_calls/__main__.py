"""Draws calls from a seed, and runs them here: `python -m random_calls --help`."""

import sys

import levels

from .families import FAMILIES
from .recording import FILE, Recording


def arguments():
    parser = levels.parser("random_calls", "calls of operations")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, metavar="FAMILY", help=" ".join(FAMILIES))
    parser.add_argument("--small", action="store_true", help="shapes of few elements, as in the recording of the tests")
    return parser.parse_args()


def record(given, folder):
    """Write the calls, and say what was noticed about PyTorch."""
    recording = Recording()
    for number in [given.number] if given.number is not None else range(given.cases):
        recording.add(given.seed, number, given.families, given.small)
    recording.write(folder / FILE)
    for reason, count in sorted(recording.refused.items()):
        print(f"  {count:5} refused by PyTorch: {reason}")
    for reason, count in sorted(recording.listed.items()):
        print(f"  {count:5} where PyTorch may differ: {reason}")
    for line in recording.far:
        print(f"  not listed in `different.py`: {line}")
    print(f"seed {given.seed}: {len(recording.cases)} calls")
    return bool(recording.far)


def main():
    given = arguments()
    folder = levels.prepare("random_calls", given)
    far = record(given, folder)
    agreed = levels.agree("random_calls", "tensors", folder, given)
    return 0 if agreed and not far else 1


if __name__ == "__main__":
    sys.exit(main())
