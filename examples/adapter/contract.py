"""Plays the contract for adapters (docs/reference/adapter.md) against a running adapter.

    python3 contract.py http://localhost:8080 --resource limits --token-file write-token

It creates, reads, replaces and deletes a resource of its own. It writes nothing before the adapter has shown that this
resource is absent. Exit codes: 0 all rules hold or are skipped, 1 a rule fails, 2 bad usage or no answer.
"""
import argparse
import http.client
import json
import pathlib
import signal
import sys
import time
from urllib.parse import urljoin, urlsplit

DEADLINE = 10  # seconds of one request: the default `timeout` of a poll and of a step
MAX_BYTES = 1 << 20  # of one response: the default `maxBytes` of a read
MAX_PAGES = 1_000  # of one collection, as for the poller
MAX_SHOWN = 300  # characters of a response that are printed: a few lines of a terminal
WRONG_TOKEN = "drift-contract-wrong-token"
UNKNOWN_RESOURCE = "drift-contract-unknown-resource"
# Of the first state a key is left, which a PUT that merges would keep.
STATES = [{"value": "1", "old": "1"}, {"value": "2"}]
NOT_ABSENT = "nothing was written, because the adapter does not say that the identity is absent"
NOT_WRITTEN = "not checked: PUT failed"


class Failed(Exception):
    """The end of a rule that does not hold: the reply, and what the contract expects."""


class Skipped(Exception):
    """The end of a rule that cannot be tried, with the reason."""


class Reply:
    """A request and its response: status, text and, if that is JSON, body; or the reason why none came."""

    def __init__(self, sent, status=None, text="", failure=None):
        self.sent, self.status, self.text, self.failure = sent, status, text, failure
        try:
            self.body = json.loads(text)
        except ValueError:
            self.body = None

    def field(self, name):
        return self.body.get(name) if isinstance(self.body, dict) else None

    def expect(self, expected, holds):
        if self.failure or not holds(self):
            raise Failed(self, expected)
        return self

    def shown(self):
        """Returns the status and the beginning of the body, without what a terminal would interpret."""
        text = self.text[:MAX_SHOWN].rstrip()
        safe = (letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
        return self.failure or f"{self.status} {''.join(safe)}".rstrip()


class Adapter:
    """A running adapter. Requests follow no redirect and use no proxy."""

    def __init__(self, base, token=None):
        self.base, self.token = base.rstrip("/"), token

    def url(self, *parts):
        """Returns a URL below the base, with each part percent-encoded as in a target."""
        # Letters and digits stay. `quote` would also keep `_`, `.`, `-` and `~`.
        encoded = lambda byte: chr(byte) if byte < 128 and chr(byte).isalnum() else f"%{byte:02X}"
        return self.base + "".join("/" + "".join(map(encoded, part.encode())) for part in parts)

    def ask(self, method, url, body=None):
        return self.send(method, url, self.token, body)

    def send(self, method, url, token, body=None):
        sent = f"{method} {url} {body or ''}".rstrip()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        connection = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(parts.netloc)
        place = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        signal.signal(signal.SIGALRM, end_wait)
        signal.setitimer(signal.ITIMER_REAL, DEADLINE)
        try:
            connection.request(method, place, body, headers)
            response = connection.getresponse()
            data = response.read(MAX_BYTES + 1)
            if len(data) <= MAX_BYTES and response.length:
                raise http.client.IncompleteRead(data)
        except http.client.IncompleteRead:
            return Reply(sent, failure=f"{response.status} with a body that is cut off")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Reply(sent, failure=f"no response: {str(error) or type(error).__name__}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            connection.close()
        if len(data) > MAX_BYTES:
            return Reply(sent, failure=f"{response.status} with a body of more than {MAX_BYTES} bytes")
        text = data.decode(errors="replace")
        # It is printed.
        return Reply(sent, response.status, text.replace(self.token, "(token)") if self.token else text)


def end_wait(*_):
    raise TimeoutError(f"none within {DEADLINE} s")


class Trial:
    """The rules, in an order in which each one prepares the next."""

    def __init__(self, adapter, resource, states, identity):
        self.adapter, self.resource, self.states, self.identity = adapter, resource, states, identity
        self.ends = []

    def play(self):
        """Plays all rules. Returns each with its end, which is None if it holds."""
        self.rule("healthz: GET /healthz is 200 without a token", self.healthz)
        self.rule("token: a missing or wrong token is 401", self.token)
        self.rule("path: an unknown resource is 400, never 404", self.path)
        if self.rule("absence: an unknown identity is 404 and names it, percent-decoded", self.absent):
            self.rule("writes: create, replace and delete", self.skip(NOT_ABSENT))
            return self.ends
        self.rule("refusal: a malformed state is 400 or 422 with a reason", self.refusal)
        created = self.rule("create: a PUT is done when it is answered", lambda: self.put(self.states[0]))
        after = lambda is_written, rule: rule if is_written else self.skip(NOT_WRITTEN)
        is_there = not is_refused_put(created)
        self.rule("read: a GET shows the state at once", after(is_there, lambda: self.shows(self.states[0])))
        parent = self.identity.split("/")[0]
        slash = after(is_there, lambda: self.absent(parent))
        self.rule("slash: a percent-encoded slash is a part of the identity", slash)
        replaced = self.rule("replace: a repeated PUT leaves exactly the new state", after(is_there, self.replace))
        is_new = is_there and not is_refused_put(replaced)
        self.rule("collection: it has the identity once, with its state", after(is_new, self.collection))
        self.rule("delete: a DELETE leaves nothing", after(is_there, self.delete))
        self.rule("gone: a repeated DELETE is 404 or done", self.gone)
        return self.ends

    def rule(self, name, check):
        try:
            end = check()
        except (Failed, Skipped) as ended:
            end = ended
        self.ends.append((name, end))
        return end

    @staticmethod
    def skip(why):
        def check():
            raise Skipped(why)
        return check

    def healthz(self):
        self.adapter.send("GET", self.adapter.url("healthz"), None).expect("200", lambda reply: reply.status == 200)

    def token(self):
        if not self.adapter.token:
            raise Skipped("no --token-file")
        for token, case in [(None, "without a token"), (WRONG_TOKEN, "with a wrong token")]:
            reply = self.adapter.send("GET", self.url(self.identity), token)
            reply.expect(f"401 {case}", lambda reply: reply.status == 401)

    def path(self):
        reply = self.adapter.ask("GET", self.adapter.url(UNKNOWN_RESOURCE, "x"))
        reply.expect("400", lambda reply: reply.status == 400)

    def absent(self, identity=None):
        identity = identity or self.identity
        proof = json.dumps({"absent": identity}, ensure_ascii=False)
        reply = self.adapter.ask("GET", self.url(identity))
        reply.expect(f"404 {proof}", lambda reply: reply.status == 404 and reply.field("absent") == identity)

    def refusal(self):
        reply = self.adapter.ask("PUT", self.url(self.identity), "no JSON")
        is_refusal = lambda reply: reply.status in (400, 422) and isinstance(reply.field("detail"), str)
        reply.expect('400 or 422 {"detail": "…"}', is_refusal)
        self.absent()

    def put(self, state):
        reply = self.adapter.ask("PUT", self.url(self.identity), json.dumps(state))
        # A 202 would count as done too early.
        reply.expect("200, 201 or 204", lambda reply: reply.status in (200, 201, 204))

    def shows(self, state):
        reply = self.adapter.ask("GET", self.url(self.identity))
        reply.expect(f"200 {json.dumps(state)}", lambda reply: reply.status == 200 and self.has(reply.body, state))

    def replace(self):
        for _ in range(2):
            self.put(self.states[1])
            self.shows(self.states[1])

    def collection(self):
        state = self.states[1]
        expected = f"one item {json.dumps({'identity': self.identity}, ensure_ascii=False)} with {json.dumps(state)}"
        self.entries(expected, lambda found: len(found) == 1 and self.has(found[0], state))

    def delete(self):
        reply = self.adapter.ask("DELETE", self.url(self.identity))
        reply.expect("200 or 204", lambda reply: reply.status in (200, 204))
        self.absent()
        try:
            self.entries("no item of the identity", lambda found: not found)
        except Skipped:
            pass

    def gone(self):
        reply = self.adapter.ask("DELETE", self.url(self.identity))
        reply.expect("404, 200 or 204", lambda reply: reply.status in (404, 200, 204))
        self.absent()

    def entries(self, expected, holds):
        """Reads the collection. Its items of the identity have to be as expected."""
        url, asked, found = self.adapter.url(self.resource), set(), []
        while url not in asked and len(asked) < MAX_PAGES:
            asked.add(url)
            page = self.adapter.ask("GET", url)
            if page.status in (405, 501):
                raise Skipped("the adapter offers no collection")
            is_page = lambda reply: reply.status == 200 and has_items(reply) and following(url, reply) is not False
            page.expect('200 {"items": [{"identity": "…"}], "next": …} with a next on the same host', is_page)
            found += [item for item in page.field("items") if item["identity"] == self.identity]
            if following(url, page) is None:
                page.expect(expected, lambda _: holds(found))
                return
            url = following(url, page)
        reply = Reply(f"GET {url}", failure="the next of the page before")
        raise Failed(reply, f"at most {MAX_PAGES} pages, none of them twice")

    def has(self, seen, sent):
        """Returns True if a state has what was sent, and nothing that only the other state has."""
        others = {key for state in self.states for key in state if key not in sent}
        return contains(seen, sent) and not others & set(seen)

    def url(self, identity):
        return self.adapter.url(self.resource, identity)


def is_refused_put(end):
    """Returns True if a rule ended by a PUT that the adapter refused or did not answer."""
    reply = end.args[0] if isinstance(end, Failed) else None
    return reply is not None and reply.sent.startswith("PUT ") and not reply.shown().startswith("2")


def has_items(reply):
    items = reply.field("items")
    is_item = lambda item: isinstance(item, dict) and isinstance(item.get("identity"), str)
    return isinstance(items, list) and all(map(is_item, items))


def following(url, reply):
    """Returns the URL of the next page, None after the last one, or False if it is no URL on the same host."""
    further = reply.field("next")
    if further in (None, ""):
        return None
    if not isinstance(further, str):
        return False
    joined = urljoin(url, further)
    return joined if urlsplit(joined)[:2] == urlsplit(url)[:2] else False


def contains(seen, sent):
    """Returns True if `seen` has every value of `sent`. An adapter may add keys."""
    if isinstance(seen, dict) and isinstance(sent, dict):
        return all(key in seen and contains(seen[key], value) for key, value in sent.items())
    # As texts: for Python, 1 equals 1.0 and true.
    return json.dumps(seen, sort_keys=True) == json.dumps(sent, sort_keys=True)


def report(ends):
    """Returns one line for each rule, and what came instead."""
    lines, counts = [], {"ok": 0, "failed": 0, "skipped": 0}
    for name, end in ends:
        if isinstance(end, Failed):
            reply, expected = end.args
            counts["failed"] += 1
            lines += [f"fails    {name}", f"  sent      {reply.sent}", f"  came      {reply.shown()}"]
            lines.append(f"  expected  {expected}")
        elif isinstance(end, Skipped):
            counts["skipped"] += 1
            lines.append(f"skipped  {name} ({end})")
        else:
            counts["ok"] += 1
            lines.append(f"ok       {name}")
    return "\n".join([*lines, ", ".join(f"{count} {word}" for word, count in counts.items())])


def base_url(text):
    parts = urlsplit(text)
    # It is printed.
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise argparse.ArgumentTypeError("an http or https URL without credentials is needed")
    return text


def state(text):
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("a state is a JSON object")
    return value


def token_in(path):
    try:
        token = pathlib.Path(path).read_text().rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {error}")
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise argparse.ArgumentTypeError(f"{path}: a token is one line of visible ASCII characters")
    return token


def main():
    about, form = __doc__.split("\n\n", 1)[0], argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, epilog=__doc__.split("\n\n")[-1], formatter_class=form)
    parser.add_argument("url", type=base_url, help="the URL before /{resource}")
    parser.add_argument("--resource", required=True, help="the resource to play it with")
    parser.add_argument("--state", type=state, action="append", default=[],
                        help="a state that the adapter accepts; given twice, the second one replaces the first")
    parser.add_argument("--token-file", type=token_in, help="the file with a token that may write")
    given = parser.parse_args()
    if len(given.state) > 2:
        parser.error("--state may be given twice, not more often")
    states = given.state or STATES
    states = [states[0], states[-1]]
    adapter = Adapter(given.url, given.token_file)
    health = adapter.send("GET", adapter.url("healthz"), None)
    if health.failure:
        print(f"{given.url} does not answer: {health.failure}", file=sys.stderr)
        return 2
    # A name of its own: neither a leftover nor anything of the user is in the way. An adapter that takes its slash for
    # a separator finds another resource. Decoded twice, it would be another name.
    ends = Trial(adapter, given.resource, states, f"drift-contract/ü +%41{time.time_ns()}").play()
    print(report(ends))
    return 1 if any(isinstance(end, Failed) for _, end in ends) else 0


if __name__ == "__main__":
    sys.exit(main())
