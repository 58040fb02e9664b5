"""Drive headless Chromium over its DevTools pipe with Python's standard library only."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from children import ending_with_parent


class BrowserError(Exception):
    """The page or the browser refused a request."""


class Browser:
    """One page. `complaints` collects console messages and uncaught errors."""

    def __init__(self, program, width=1200, height=900):
        self.folder = tempfile.mkdtemp()
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        # Chromium reads commands from descriptor 3 and answers on 4.
        def place_descriptors():
            commands, answers = os.dup(to_browser), os.dup(from_browser)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--hide-scrollbars", "--user-data-dir=" + os.path.join(self.folder, "profile"),
             f"--window-size={width},{height}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=ending_with_parent(place_descriptors), start_new_session=True, env=dict(os.environ, TMPDIR=self.folder))
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b"", 0, None
        self.complaints, self.requests, self.loaded = [], [], set()
        targets = self.command("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.command("Target.attachToTarget", targetId=page["targetId"],
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(domain + ".enable")
        self.command("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.input)
        os.close(self.output)
        # The last of Chromium's processes may still be writing.
        deadline = time.monotonic() + 10
        while os.path.exists(self.folder) and time.monotonic() < deadline:
            shutil.rmtree(self.folder, ignore_errors=True)
            time.sleep(0.05)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.input, 1 << 16) if ready else b""
            if not chunk:
                raise BrowserError("the browser does not answer")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(values["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(values["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(json.dumps(values["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method == "Page.lifecycleEvent" and values["name"] == "load":
            self.loaded.add(values["loaderId"])
        return message

    def command(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        """Returns when this page, and not one opened before, has loaded."""
        url = path if path == "about:blank" else "file://" + os.path.abspath(path)
        loader = self.command("Page.navigate", url=url)["loaderId"]
        deadline = time.monotonic() + 60
        while loader not in self.loaded:
            self.receive(deadline)

    def evaluate(self, expression):
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True,
                              awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def middle_of(self, selector):
        """[x, y] of the element's centre; scrolls to it and waits until it exists, rests over two frames and nothing covers it."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            place = self.evaluate(self.place_of(selector))
            if place is not None:
                return place
            time.sleep(0.05)
        raise BrowserError(f"{selector}: not to be seen")

    @staticmethod
    def place_of(selector):
        return f"""(async () => {{
            const middle = () => {{
                const element = document.querySelector({json.dumps(selector)});
                if (!element) return null;
                element.scrollIntoView({{ block: "center", inline: "center", behavior: "instant" }});
                const box = element.getClientRects()[0];
                if (!box) return null;
                const x = box.left + box.width / 2, y = box.top + box.height / 2;
                const top = document.elementFromPoint(x, y);
                return top && (element.contains(top) || top.contains(element)) ? [x, y] : null;
            }};
            const before = JSON.stringify(middle());
            for (let frame = 0; frame < 2; ++frame) await new Promise(requestAnimationFrame);
            const after = middle();
            return JSON.stringify(after) === before ? after : null;
        }})()"""

    def mouse(self, kind, x, y, **more):
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, selector):
        self.mouse("mouseMoved", *self.middle_of(selector))

    def click(self, selector):
        x, y = self.middle_of(selector)
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        # Events that the click queues, such as `toggle`, come after it.
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def press(self, key):
        """Press a key, given by its DOM name: Tab, Enter, Escape, ArrowRight ..."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37,
                "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", key=key, code=key,
                     windowsVirtualKeyCode=code, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=key, code=key,
                     windowsVirtualKeyCode=code)

    def view(self, width, height, dark=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path):
        picture = self.command("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
