"""A placement in the format of another library:

    python -m lanescope.torch model.pb placement.json --format device-map
"""

import argparse
import json
import os
import sys

from lanescope.torch.export import Exported
from lanescope.torch.placements import FORMATS


def main():
    parser = argparse.ArgumentParser(prog="python -m lanescope.torch", description="A placement for PyTorch's libraries")
    parser.add_argument("graph", help="what Exported.save wrote (.pb)")
    parser.add_argument("placement", help="what `lanescope place` or `search` wrote with -o FILE.json")
    parser.add_argument("--format", choices=sorted(FORMATS), default="device-map")
    parser.add_argument("--no-split", default="", help="classes of modules that stay whole, with commas between")
    options = parser.parse_args()
    try:
        exported = Exported.read_modules(os.path.splitext(options.graph)[0] + ".modules.json")
        with open(options.placement, encoding="utf-8") as file:
            nodes = json.load(file)["nodes"]
        placement = {name: node["device"] for name, node in nodes.items()}
        whole = {"no_split": [each for each in options.no_split.split(",") if each]} if options.format != "fsdp" else {}
        made = FORMATS[options.format](exported, placement, **whole)
    except (OSError, ValueError, KeyError) as error:
        print(f"error: InvalidArgument: {error}", file=sys.stderr)
        return 1
    print(json.dumps(made, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
