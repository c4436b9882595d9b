#!/usr/bin/env python3
"""Records a session with the simulator as a picture: docs/session.svg.

    docs/session.py

Builds the simulator, types the sentences below at its prompt in a pseudo-terminal, and draws what the terminal shows.
Needs Python 3.9 or newer and nothing else.
"""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "session.svg"
COLUMNS, ROWS = 80, 40

# What to type.
SESSION = [
    "is the front door locked?",
    "turn on the kitchen light and set the hall light to 60 percent",
    "unlock the front door",
    "n",
    "undo",
]

# Seconds. The first build happens before.
PATIENCE = 30

CHARACTER, LINE, MARGIN, BAR = 8.43, 19, 18, 34


def wait_for_prompt(terminal, screen):
    """Reads from the terminal until it shows an empty prompt and nothing more comes."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.4)
        if ready:
            screen.write(os.read(terminal, 65536).decode("utf-8", "replace"))
        elif screen.lines[-1].strip() == ">":
            return
    sys.exit(f"session.py: no prompt within {PATIENCE} s; the screen shows:\n" + "\n".join(screen.lines))


class Screen:
    """The few control sequences that the prompt uses."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def write(self, text):
        for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b.|[\r\n\b\x07]|[^\x1b\r\n\b\x07]+", text):
            self.control(part) if part[0] in "\x1b\r\n\b\x07" else self.put(part)

    def put(self, text):
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + text + line[self.column + len(text) :]
        self.column += len(text)

    def control(self, part):
        code, number = part[-1], int((re.findall(r"\d+", part) or ["1"])[0])
        if code == "\r":
            self.column = 0
        elif code == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif code == "\b" or code == "D":
            self.column = max(0, self.column - number)
        elif code == "C":
            self.column += number
        elif code == "A":
            self.row = max(0, self.row - number)
        elif code == "G":
            self.column = number - 1
        elif code == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif code == "J":
            self.lines = self.lines[: self.row + 1]
            self.lines[self.row] = self.lines[self.row][: self.column]


def record(program):
    """Types the session at the prompt and returns the lines on the screen."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", RUST_LOG="off")
        os.execv(program, [str(program)])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = Screen()
    try:
        wait_for_prompt(terminal, screen)
        screen.lines, screen.row = ["> "], 0
        for sentence in SESSION:
            os.write(terminal, (sentence + "\r").encode())
            wait_for_prompt(terminal, screen)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    while screen.lines and screen.lines[-1].strip() in ("", ">"):
        screen.lines.pop()
    return [line.rstrip() for line in screen.lines]


def draw(lines):
    """The lines as a picture of a terminal."""
    width = MARGIN * 2 + COLUMNS * CHARACTER
    height = BAR + MARGIN + len(lines) * LINE
    rows = []
    for number, line in enumerate(lines):
        kind = "you" if line.startswith("> ")  else "work" if line.startswith("  ...") else "hub"
        y = BAR + MARGIN + number * LINE
        rows.append(f'<text x="{MARGIN}" y="{y}" class="{kind}" xml:space="preserve">{escape(line)}</text>')
    dots = "".join(
        f'<circle cx="{22 + 20 * at}" cy="18" r="6" fill="{color}"/>'
        for at, color in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img"
  aria-label="A session with the simulator">
<style>
text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; }}
.you {{ fill: #f8f8f2; font-weight: 600; }}
.hub {{ fill: #a6e3a1; }}
.work {{ fill: #7f849c; }}
</style>
<rect width="100%" height="100%" rx="8" fill="#1e1e2e"/>
{dots}
{chr(10).join(rows)}
</svg>
"""


def main():
    subprocess.run(["cargo", "build", "--quiet", "--package", "host-sim", "--bin", "sim"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    PICTURE.write_text(draw(record(target / "debug" / "sim")), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
