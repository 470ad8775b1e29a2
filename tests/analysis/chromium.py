"""A real Chromium driven over its debugging pipe, with nothing but the standard library."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# The browser expects its pipe as files 3 and 4. A child that arranges them itself works from threaded parents as well.
SHIM = """
import fcntl, os, sys
here, there = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(here, 3)
os.dup2(there, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
# Scrolling tells its listeners a frame later.
MIDDLE = """(async () => {
  const element = document.querySelector(%s);
  element.scrollIntoView({ block: "center", behavior: "instant" });
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  const box = element.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
})()"""
KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
    "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


def find_chromium() -> str | None:
    """The browser's path, if one is installed."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page in one browser. Everything the page says or asks the network for is kept in `events`."""

    def __init__(self, folder: Path):
        path = find_chromium()
        assert path is not None
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()
        command = [
            sys.executable,
            "-c",
            SHIM,
            str(read_there),
            str(write_there),
            path,
            *FLAGS,
            f"--user-data-dir={folder}",
        ]
        self._process = subprocess.Popen(
            command, pass_fds=(read_there, write_there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_there)
        os.close(write_there)
        self._pending, self._count, self._session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(30)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, and its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], 60)
            assert ready, "the browser does not answer"
            read = os.read(self._read, 1 << 20)
            assert read, "the browser ended"
            self._pending += read
        text, _, self._pending = self._pending.partition(b"\0")
        return json.loads(text)

    def open(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file and wait until its scripts are ready."""
        self.size(width, height)
        theme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("location.protocol === 'file:' && document.documentElement?.dataset.ready")

    def size(self, width: int, height: int) -> None:
        """The size of the window, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, script: str, seconds: float = 30.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"!!({script})"):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)

    def press(self, key: str, times: int = 1) -> None:
        """Press a key where the focus is."""
        text = {"Enter": "\r", " ": " "}.get(key)
        code = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEYS[key]}
        for _ in range(times):
            self.call(
                "Input.dispatchKeyEvent",
                type="keyDown" if text else "rawKeyDown",
                **code,
                **({"text": text} if text else {}),
            )
            self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def point(self, x: float, y: float, click: bool = False) -> None:
        """Move the mouse, and click if asked to."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of an element, scrolled into view."""
        x, y = self.run(MIDDLE % json.dumps(selector))
        return x, y

    def problems(self) -> list[dict[str, Any]]:
        """Exceptions, console errors and warnings, and what the policy refused."""
        self.run("0")
        bad = []
        for event in self.events:
            kind, parameters = event.get("method"), event.get("params", {})
            logged = kind == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning")
            printed = kind == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert")
            if kind == "Runtime.exceptionThrown" or logged or printed:
                bad.append(parameters)
        return bad

    def requests(self) -> list[str]:
        """Every address the page asked for."""
        self.run("0")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, path: Path, *, whole: bool = False, clip: dict[str, float] | None = None) -> None:
        """A screenshot, of the window or the whole page."""
        options: dict[str, Any] = {"captureBeyondViewport": True} if whole or clip else {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        if clip:
            options["clip"] = {**clip, "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))
