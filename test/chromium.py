"""A real browser without a screen: the system's Chromium, which asks nobody but the page."""

import shutil
import time

import pytest
from node_processes import PATIENCE

# none of the requests that a fresh Chromium makes by itself
WORDS = ('--headless=new', '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
         '--enable-unsafe-swiftshader', '--disable-background-networking', '--disable-sync',
         '--disable-component-update', '--no-first-run', '--disable-dev-shm-usage')
# WebGL by software. Its threads hand each other one picture hundreds of times, and each time wait
# for a processor: beside many busy programs the page stood still for minutes. Where nobody looks
# at a picture, WebGL takes all commands and draws nothing.
UNDRAWN = """for (const kind of [WebGLRenderingContext, WebGL2RenderingContext])
    for (const name of ['clear', 'drawArrays', 'drawArraysInstanced', 'drawElements',
                        'drawElementsInstanced', 'drawRangeElements', 'generateMipmap'])
        kind.prototype[name] = () => {};"""
# five pictures a second instead of sixty, each of which keeps a processor busy; and where one
# takes long, beside many other programs, some time is left for who asks the page
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
    """A browser on a page."""

    def __init__(self, address, folder, width=900, height=600, draws=True):
        """Open `address`; the profile goes to `folder`. Only who `draws` has a `picture`."""
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which('chromium')
        for word in (*WORDS, f'--window-size={width},{height}', f'--user-data-dir={folder}'):
            options.add_argument(word)
        options.set_capability('goog:loggingPrefs', {'performance': 'ALL'})
        # named by path, or selenium would look for one elsewhere
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(
            shutil.which('chromedriver')))
        self.driver.set_script_timeout(PATIENCE)       # it draws by software, beside other tests
        for source in (SPARED, UNDRAWN)[:1 if draws else 2]:
            self.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument',
                                        {'source': source})
        self.driver.get(address)

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
        return self.driver.execute_script('return document.body.innerText')

    def press(self, name):
        """Press the button with this name."""
        button = self.wait_for(lambda: self.driver.execute_script(BUTTON, name), f'button {name}')
        self.driver.execute_script('arguments[0].click()', button)

    def is_grey(self, name):
        """Whether the button with this name is there and cannot be pressed."""
        button = self.driver.execute_script(BUTTON, name)
        return button is not None and not button.is_enabled()

    def is_grey_number(self, label):
        """Whether the number beside a label is not there, or cannot be changed."""
        box = self._box(label)
        return not box or not box.is_enabled()

    def is_grey_choice(self, label):
        """Whether the choice beside a label is there, and cannot be made."""
        box = self._box(label, '')
        return bool(box) and not box.is_enabled()

    def open_folder(self, title):
        """Open a folder of the panel."""
        self.driver.execute_script(FOLDER, title)

    def choose(self, label, value):
        """Choose a word beside a label."""
        box = self.wait_for(lambda: (found := self._box(label, '')) and found.is_enabled()
                            and found, f'a choice beside {label}')
        self.driver.execute_script('arguments[0].scrollIntoView(); arguments[0].click()', box)
        option = self.wait_for(lambda: self.driver.execute_script(OPTION, value), f'{value}')
        self.driver.execute_script('arguments[0].click()', option)

    def type(self, label, value):
        """Type a number beside a label."""
        from selenium.webdriver.common.keys import Keys

        # its folder may be about to open
        box = self.wait_for(lambda: (found := self._box(label)) and found.is_displayed() and found,
                            f'a number beside {label}')
        self.driver.execute_script('arguments[0].scrollIntoView()', box)
        box.send_keys(Keys.CONTROL, 'a')
        box.send_keys(str(value), Keys.ENTER)

    def _box(self, label, kind='[@type="text"]'):
        found = self.driver.find_elements(
            'xpath', f'//*[normalize-space(text())="{label}"]/following::input{kind}[1]')
        # a legend may have the same words before it
        return found and found[-1]

    def picture(self):
        """Return the page as an array (height, width, 4)."""
        import io

        from matplotlib import image

        return image.imread(io.BytesIO(self.driver.get_screenshot_as_png()), format='png')

    def requests(self):
        """Return what the pages that were opened have asked for."""
        import json

        found = set()
        for entry in self.driver.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                found.add(message['params']['request']['url'])
        return {url for url in found if not url.startswith(('chrome:', 'data:', 'chrome-'))}

    def close(self):
        """End it."""
        self.driver.quit()


def need_chromium():
    """Skip where there is no browser, and say what to install."""
    pytest.importorskip('viser', reason='pip install "flex_robot_sim[view]"')
    pytest.importorskip('selenium', reason='pip install selenium')
    if not (shutil.which('chromium') and shutil.which('chromedriver')):
        pytest.skip('no browser: apt install chromium chromium-driver')


@pytest.fixture
def browsers(tmp_path):
    """Return a function that opens a Chromium on an address; all end with the test."""
    need_chromium()
    opened = []

    def open_one(address, **size):
        opened.append(Chromium(address, tmp_path / f'profile_{len(opened)}', **size))
        return opened[-1]
    yield open_one
    for browser in opened:
        browser.close()
