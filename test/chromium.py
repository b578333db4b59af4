"""
A real browser without a screen: the system's Chromium, which connects only to the page.

One serves all tests of a file, each by windows of its own: to start one takes as long as to load
a page.
"""

import json
import shutil
import time

import pytest
from node_processes import PATIENCE

# None of the requests that a fresh Chromium makes by itself. WebGL by software; what it draws goes
# onto the page directly, and not by the same software once more. A window of an application has no
# line for addresses, which is a page by itself.
WORDS = (
    '--headless=new',
    '--no-sandbox',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--disable-gpu-compositing',
    '--disable-background-networking',
    '--disable-sync',
    '--disable-component-update',
    '--no-first-run',
    '--disable-dev-shm-usage',
    '--app=data:,',
)
# WebGL runs in software. Its threads exchange one picture hundreds of times, and each time wait
# for a processor. With many busy programs in parallel, the page stands still for minutes. While
# no test looks at a picture, WebGL takes all commands and draws nothing. So bodies do not mirror
# their surroundings, whose preparation takes five seconds of a processor when a page opens.
UNSEEN = """window.isSeen = false;
for (const kind of [WebGLRenderingContext, WebGL2RenderingContext])
    for (const name of ['clear', 'drawArrays', 'drawArraysInstanced', 'drawElements',
                        'drawElementsInstanced', 'drawRangeElements', 'generateMipmap']) {
        const draw = kind.prototype[name];
        kind.prototype[name] = function(...words) { if (isSeen) draw.apply(this, words); };
    }"""
LOOK = """isSeen = true;
requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"""
# five pictures a second instead of sixty, each of which keeps a processor busy; if one takes
# long, with many programs in parallel, some time remains for queries of the page
SPARED = """let spent = 0;
window.requestAnimationFrame = draw => setTimeout(() => {
    const start = performance.now();
    draw(start);
    spent = performance.now() - start;
}, Math.min(Math.max(200, 2 * spent), 2000));
window.cancelAnimationFrame = clearTimeout"""
BUTTON = """return [...document.querySelectorAll('button')].find(
    b => b.innerText.trim().toLowerCase() == arguments[0])"""
FOLDER = """[...document.querySelectorAll('div, legend, p')].filter(
    e => e.innerText.trim() == arguments[0]).pop().click()"""
OPTION = """return [...document.querySelectorAll('[role=option]')].find(
    e => e.innerText.trim() == arguments[0])"""


class Chromium:
    """A browser; its first window stays empty, so that it outlives all others."""

    def __init__(self, folder):
        """Start it; the profile goes to `folder`."""
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which('chromium') or ''
        for word in (*WORDS, f'--user-data-dir={folder}'):
            options.add_argument(word)
        options.set_capability('goog:loggingPrefs', {'performance': 'ALL'})
        # named by path, or selenium would look for one elsewhere
        self.driver = webdriver.Chrome(
            options=options, service=webdriver.ChromeService(shutil.which('chromedriver'))
        )
        self.driver.set_script_timeout(PATIENCE)  # it draws by software, in parallel with tests
        self._first = self._at = self.driver.current_window_handle

    def at(self, window):
        """Return the driver, turned to a window."""
        if self._at != window:
            self.driver.switch_to.window(window)
            self._at = window
        return self.driver

    def open_window(self, width, height):
        """Return a new window, which knows nothing of the others."""
        known = {*self.driver.window_handles}
        self.at(self._first).execute_script(
            "window.open('about:blank', '_blank', 'popup,noopener')"
        )
        end = time.monotonic() + PATIENCE
        while not (found := {*self.driver.window_handles} - known):
            assert time.monotonic() < end, 'there is no new window'
            time.sleep(0.01)
        (window,) = found
        self.at(window).set_window_rect(width=width, height=height)
        return window

    def close_window(self, window):
        """Close one, and forget what its pages have stored."""
        for command, what in (
            ('Network.clearBrowserCache', {}),
            ('Storage.clearDataForOrigin', {'origin': '*', 'storageTypes': 'all'}),
        ):
            self.at(window).execute_cdp_cmd(command, what)
        self.driver.close()

    def requests(self):
        """Return what pages have asked for since the last call."""
        found = set()
        for entry in self.driver.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                found.add(message['params']['request']['url'])
        return {url for url in found if not url.startswith(('chrome:', 'data:', 'chrome-'))}

    def close(self):
        """End it."""
        self.driver.quit()


class Window:
    """A window of a browser on a page."""

    def __init__(self, browser, address, width=900, height=600):
        """Open `address`."""
        self._browser, self._window = browser, browser.open_window(width, height)
        for source in SPARED, UNSEEN:
            self.driver.execute_cdp_cmd(
                'Page.addScriptToEvaluateOnNewDocument', {'source': source}
            )
        self.driver.get(address)
        # an address with a token leads to the page
        self.wait_for(lambda: 'token=' not in self.driver.current_url, 'the page itself')

    @property
    def driver(self):
        """The driver of the browser, turned to this window."""
        return self._browser.at(self._window)

    def wait_for(self, condition, what):
        """Return what `condition` gives as soon as it is true."""
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < end, f'{what} did not come: {self.text}'
            time.sleep(0.05)
        return found

    @property
    def text(self):
        """What is written on the page."""
        return self.driver.execute_script("return document.body?.innerText ?? ''")

    def press(self, name):
        """Press the button with this name."""
        button = self.wait_for(lambda: self.driver.execute_script(BUTTON, name), f'button {name}')
        self.driver.execute_script('arguments[0].click()', button)

    def is_grey(self, name):
        """Whether the button with this name is there and cannot be pressed."""
        button = self.driver.execute_script(BUTTON, name)
        return button is not None and not button.is_enabled()

    def is_grey_number(self, label):
        """Whether the number next to a label is not there, or cannot be changed."""
        box = self._box(label)
        return not box or not box.is_enabled()

    def is_grey_choice(self, label):
        """Whether the choice next to a label is there, and cannot be made."""
        box = self._box(label, '')
        return bool(box) and not box.is_enabled()

    def open_folder(self, title):
        """Open a folder of the panel."""
        self.driver.execute_script(FOLDER, title)

    def choose(self, label, value):
        """Choose a word next to a label."""
        box = self.wait_for(
            lambda: (found := self._box(label, '')) and found.is_enabled() and found,
            f'a choice next to {label}',
        )
        self.driver.execute_script('arguments[0].scrollIntoView(); arguments[0].click()', box)
        option = self.wait_for(lambda: self.driver.execute_script(OPTION, value), f'{value}')
        self.driver.execute_script('arguments[0].click()', option)

    def type(self, label, value):
        """Type a number next to a label."""
        from selenium.webdriver.common.keys import Keys

        # its folder may be about to open
        box = self.wait_for(
            lambda: (found := self._box(label)) and found.is_displayed() and found,
            f'a number next to {label}',
        )
        self.driver.execute_script('arguments[0].scrollIntoView()', box)
        box.send_keys(Keys.CONTROL, 'a')
        box.send_keys(str(value), Keys.ENTER)

    def _box(self, label, kind='[@type="text"]'):
        found = self.driver.find_elements(
            'xpath', f'//*[normalize-space(text())="{label}"]/following::input{kind}[1]'
        )
        # a legend may have the same words before it
        return found and found[-1]

    def picture(self):
        """Return the page as an array (height, width, 4), drawn after this was asked."""
        import io

        from matplotlib import image

        self.driver.execute_async_script(LOOK)
        seen = self.driver.get_screenshot_as_png()
        self.driver.execute_script('isSeen = false')
        return image.imread(io.BytesIO(seen), format='png')

    def requests(self):
        """Return what the pages of a test have asked for."""
        return self._browser.requests()

    def close(self):
        """Close it."""
        self._browser.close_window(self._window)


@pytest.fixture(scope='module')
def one_chromium(tmp_path_factory):
    """A browser without a page; skip where there is none, and say what to install."""
    pytest.importorskip('selenium', reason='pip install selenium')
    if not (shutil.which('chromium') and shutil.which('chromedriver')):
        pytest.skip('no browser: apt install chromium chromium-driver')
    browser = Chromium(tmp_path_factory.mktemp('profile'))
    yield browser
    browser.close()


@pytest.fixture
def browsers(one_chromium):
    """Return a function that opens an address in a window of its own; all close with the test."""
    opened = []
    for kind in 'performance', 'browser':
        one_chromium.driver.get_log(kind)  # of other tests

    def open_one(address, **size):
        opened.append(Window(one_chromium, address, **size))
        return opened[-1]

    yield open_one
    for window in opened:
        window.close()
