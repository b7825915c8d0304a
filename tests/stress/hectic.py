"""A plugin for pytest: threads change places as often as Python lets them."""

from __future__ import annotations

import sys

sys.setswitchinterval(1e-6)
