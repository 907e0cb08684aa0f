"""The page that the browser tests share notices what no page of Lumina may do."""

import http.server
import threading

import pytest

from tests.browser.stage import becomes

pytestmark = pytest.mark.browser

STRICT = "default-src 'none'; script-src 'self'"


@pytest.fixture
def serve():
    """Serves one HTML text, under a content policy if one is given; returns its address."""
    servers = []

    def start(html: str, policy: str = "") -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/" else 204)
                self.send_header("Content-Type", "text/html")
                if policy:
                    self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                if self.path == "/":
                    self.wfile.write(html.encode())

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_calm_page_has_no_faults(page, watch, serve):
    page.goto(serve("<h1>Lumina</h1><script>console.log('up')</script>"))
    assert page.locator("h1").inner_text() == "Lumina"
    assert watch.faults() == []


@pytest.mark.parametrize(
    ("html", "policy", "fault"),
    [
        ("<script>console.error('lost')</script>", "", "lost"),
        ("<script>setTimeout(() => nowhere(), 0)</script>", "", "nowhere is not defined"),
        ("<script>1</script>", STRICT, "Content Security Policy"),
        ("<img src='http://192.0.2.1/a.png'>", "", "another machine: http://192.0.2.1/a.png"),
        ("<img src='http://pixel.example/a.png'>", "", "another machine: http://pixel.example"),
        ("<script>new WebSocket('ws://192.0.2.1/')</script>", "", "another machine: ws://"),
    ],
)
def test_a_fault_is_noticed(page, watch, serve, html, policy, fault):
    page.goto(serve(html, policy), wait_until="commit")
    assert becomes(page, lambda: any(fault in found for found in watch.faults())), watch.faults()
    watch.allow("")
    assert watch.faults() == []
