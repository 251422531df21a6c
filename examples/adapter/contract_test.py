"""Plays the contract against adapters that keep it, and against adapters with one flaw each.

    python3 -m unittest contract_test
"""
import contextlib
import io
import json
import pathlib
import socket
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock
from urllib.parse import unquote

import contract

TOKEN = "t0k-3n"
# A name with everything that is awkward in a path.
IDENTITY = "drift-contract/ü +%411"
STATES = [{"value": "1", "old": True}, {"value": "2"}]
# The rules that each flaw breaks.
FLAWS = {
    "healthz": ["healthz"],
    "token": ["token"],
    "path": ["path"],
    "unnamed": ["absence"],
    "decoded": ["absence"],
    "flat": ["collection"],
    "nesting": ["slash"],
    "malformed": ["refusal"],
    "reason": ["refusal"],
    "accepted": ["create", "replace"],
    "refused": ["create"],
    "fixed": ["replace"],
    "late": ["read", "replace", "collection"],
    "number": ["read"],
    "mapping": ["read", "replace"],
    "merge": ["replace", "collection"],
    "once": ["replace"],
    "missing": ["collection"],
    "twice": ["collection"],
    "anonymous": ["collection", "delete"],
    "away": ["collection", "delete"],
    "endless": ["collection", "delete"],
    "left": ["delete", "gone"],
    "later": ["delete"],
    "gone": ["gone"],
    "short": ["absence"],
    "long": ["absence"],
    "redirect": ["path"],
}


class Broken(BaseHTTPRequestHandler):
    """An adapter with the flaw of its server."""

    def log_message(self, *_):
        pass

    def answer(self):
        path, _, query = self.path.partition("?")
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = respond(self.server, self.command, [unquote(part) for part in path[1:].split("/")], query,
                               self.headers.get("Authorization"), data)
        text = json.dumps(body).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/healthz/gone")
        self.send_header("Content-Length", str(len(text) + (status == 404 and self.server.flaw == "short")))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(text)

    do_GET = do_PUT = do_DELETE = answer


def respond(server, method, path, query, authorization, data):
    flaw, store = server.flaw, server.store
    if path == ["healthz"]:
        return 503 if flaw == "healthz" else 200, {}
    if path[0] == "healthz":
        return 400, {}
    if flaw != "token" and authorization != f"Bearer {TOKEN}":
        return 401, {"detail": "wrong token"}
    if path[0] != "widgets":
        return {"path": 404, "redirect": 302}.get(flaw, 400), {"detail": "no such resource"}
    if len(path) == 1:
        return collection(flaw, store, query)
    named = unquote(path[1]) if flaw == "decoded" else path[1]
    identity = path[1].replace("/", "") if flaw == "flat" else path[1]
    absent = 404, {} if flaw == "unnamed" else {"absent": named, **({"x": "x" * (1 << 20)} if flaw == "long" else {})}
    if method == "GET":
        return read(flaw, store, identity, absent)
    if method == "PUT":
        return write(flaw, store, identity, authorization, data)
    if flaw == "left":
        return 200, {}
    if store.pop(identity, None) is None:
        return (409, {"detail": "there is none"}) if flaw == "gone" else absent
    return 202 if flaw == "later" else 200, {}


def read(flaw, store, identity, absent):
    if identity in store:
        state = store[identity]
        number = {**state, "old": 1} if "old" in state else state
        return 200, {"mapping": {"state": state}, "number": number}.get(flaw, state)
    if flaw == "exists":
        return 200, {"value": "of another"}
    if flaw == "nesting" and any(key.startswith(identity) for key in store):
        return 200, {}
    return absent


def write(flaw, store, identity, authorization, data):
    try:
        state = json.loads(data)
    except ValueError:
        refusals = {"malformed": (500, {}), "reason": (400, {}), "echo": (500, {"detail": authorization})}
        return refusals.get(flaw, (400, {"detail": "no JSON"}))
    old = store.get(identity)
    if flaw == "refused":
        return 422, {"detail": "unknown key value"}
    if flaw == "fixed" and old is not None or flaw == "once" and old == state:
        return 409, {"detail": "it cannot be changed"}
    store[identity] = {"late": old or {}, "merge": {**(old or {}), **state}}.get(flaw, state)
    return 202 if flaw == "accepted" else 200, {}


def collection(flaw, store, query):
    """Two pages, the first of which is empty."""
    items = [{**state, "identity": identity} for identity, state in store.items()]
    flawed = {
        "none": (405, {"detail": "no collection"}),
        "away": (200, {"items": [], "next": "http://elsewhere.example/widgets"}),
        "anonymous": (200, {"items": [{}]}),
        "endless": (200, {"items": [], "next": "/widgets"}),
        "missing": (200, {"items": []}),
        "twice": (200, {"items": items + items}),
    }
    whole = {"items": items, "next": None} if query else {"items": [], "next": "/widgets?page=2"}
    return flawed.get(flaw, (200, whole))


@contextlib.contextmanager
def adapter(flaw):
    with ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        server.flaw, server.store = flaw, {}
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def played(flaw):
    """Plays the contract. Returns the report, and what the adapter still holds."""
    with adapter(flaw) as (server, url):
        trial = contract.Trial(contract.Adapter(url, TOKEN), "widgets", STATES, IDENTITY)
        return contract.report(trial.play()), server.store


def rules(report, word):
    """Returns the names of the rules whose lines begin with this word."""
    lines = (line[len(word):].strip() for line in report.splitlines() if line.startswith(word))
    return [line.split(":")[0] for line in lines]


def run(*arguments):
    """Runs the program. Returns its exit code and its output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        with mock.patch("sys.argv", ["contract.py", *arguments]):
            try:
                code = contract.main()
            except SystemExit as end:
                code = end.code
    return code, output.getvalue()


class Contract(unittest.TestCase):
    def test_an_adapter_by_the_contract_passes(self):
        report, left = played("")
        self.assertTrue(report.endswith("12 ok, 0 failed, 0 skipped"), report)
        self.assertEqual(left, {})

    def test_each_broken_rule_is_told(self):
        for flaw, broken in FLAWS.items():
            with self.subTest(flaw):
                report, _ = played(flaw)
                self.assertEqual(rules(report, "fails "), broken, report)

    def test_rules_after_a_refused_put_are_not_checked(self):
        skipped = {"refused": ["read", "slash", "replace", "collection", "delete"], "fixed": ["collection"]}
        for flaw, expected in skipped.items():
            with self.subTest(flaw):
                report, left = played(flaw)
                self.assertEqual((rules(report, "skipped "), left), (expected, {}), report)
                self.assertIn("(not checked: PUT failed)", report)

    def test_an_identity_that_exists_is_left_alone(self):
        report, left = played("exists")
        self.assertEqual((rules(report, "fails "), rules(report, "skipped ")), (["absence"], ["writes"]))
        self.assertEqual(left, {})

    def test_a_failed_rule_shows_request_response_and_expectation(self):
        report, _ = played("malformed")
        lines = report.splitlines()
        place = lines.index("fails    refusal: a malformed state is 400 or 422 with a reason")
        sent, came, expected = lines[place + 1:place + 4]
        self.assertTrue(sent.startswith("  sent      PUT http://127.0.0.1:"), sent)
        self.assertTrue(sent.endswith("/widgets/drift%2Dcontract%2F%C3%BC%20%2B%25411 no JSON"), sent)
        self.assertEqual((came, expected), ("  came      500 {}", '  expected  400 or 422 {"detail": "…"}'))

    def test_what_came_is_printed_without_token_and_controls(self):
        report, _ = played("echo")
        self.assertIn("(token)", report)
        self.assertNotIn(TOKEN, report)
        self.assertEqual(contract.Reply("GET /", 500, "a\x1b[31m\u202eb\r").shown(), "500 a\\x1b[31m\\u202eb")

    def test_an_adapter_may_offer_no_collection(self):
        report, left = played("none")
        self.assertTrue(report.endswith("11 ok, 0 failed, 1 skipped"), report)
        self.assertEqual(left, {})

    def test_an_answer_has_a_limit_of_time(self):
        with mock.patch("contract.DEADLINE", 0.2), contextlib.ExitStack() as stack:
            silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            code, output = run(url, "--resource", "widgets")
        self.assertEqual(code, 2)
        self.assertIn("does not answer: no response: none within 0.2 s", output)

    def test_the_exit_code_tells_a_broken_rule_from_silence(self):
        with tempfile.TemporaryDirectory() as folder, adapter("") as (_, good), adapter("path") as (_, broken):
            token, empty = pathlib.Path(folder, "token"), pathlib.Path(folder, "empty")
            token.write_text(TOKEN + "\n")
            empty.write_text("\n")
            whole = ["--token-file", str(token)]
            for url, further, code, text in [
                (good, whole, 0, "12 ok, 0 failed, 0 skipped"),
                (good, [*whole, "--state", '{"a": 1}'], 0, "12 ok, 0 failed, 0 skipped"),
                (broken, whole, 1, "fails    path: "),
                # Without a token, this adapter answers 401.
                (good, [], 1, "skipped  token: a missing or wrong token is 401 (no --token-file)"),
                # No server listens on the port of tcpmux.
                ("http://127.0.0.1:1", [], 2, "does not answer: no response: "),
                ("ftp://127.0.0.1", [], 2, "an http or https URL without credentials is needed"),
                ("http://a:b@127.0.0.1", [], 2, "without credentials"),
                (good, ["--state", "3"], 2, "a state is a JSON object"),
                (good, ["--state", "{}", "--state", "{}", "--state", "{}"], 2, "may be given twice"),
                (good, ["--token-file", str(empty)], 2, "empty: a token is one line"),
                (good, ["--token-file", str(token) + "s"], 2, "tokens"),
            ]:
                with self.subTest((url, further)):
                    ended, output = run(url, "--resource", "widgets", *further)
                    self.assertEqual((ended, text in output), (code, True), output)


if __name__ == "__main__":
    unittest.main()
