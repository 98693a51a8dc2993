"""``python -m dras_lab`` is ``dras-lab``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
