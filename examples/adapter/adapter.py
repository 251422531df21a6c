"""An adapter for hashes of Redis, by the contract in docs/reference/adapter.md. /HASH/FIELD is a JSON object."""
import hmac, json, pathlib, socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import environ
from urllib.parse import unquote

STATUSES = {"NOAUTH": 403, "WRONGPASS": 403, "NOPERM": 403, "WRONGTYPE": 409, "LOADING": 503, "BUSY": 503, "OOM": 503}
class Problem(Exception): pass
def packed(words): return f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
def redis(*command):
    commands = [("AUTH", environ["REDIS_PASSWORD"])] * ("REDIS_PASSWORD" in environ) + [command]
    with socket.create_connection((environ["REDIS_HOST"], environ.get("REDIS_PORT", 6379)), timeout=3) as connection:
        connection.sendall("".join(map(packed, commands)).encode())
        with connection.makefile("rb") as stream: return [reply(stream) for _ in commands][-1]
def reply(stream):
    line = stream.readline()
    if not line.endswith(b"\r\n"): raise ConnectionError("the reply ends too early")
    kind, rest = line[:1], line[1:-2].decode()
    if kind == b"-": raise Problem(STATUSES.get(rest.split()[0], 502), f"Redis: {rest}")
    if kind == b"*": return [reply(stream) for _ in range(int(rest))]
    if kind != b"$" or rest == "-1": return None if rest == "-1" else rest  # nothing, a number or a status
    if len(data := stream.read(int(rest) + 2)) < int(rest) + 2: raise ConnectionError("the reply ends too early")
    return data[:-2].decode()
def state_of(text, status):
    try: state = json.loads(text)
    except ValueError: state = None
    if not isinstance(state, dict): raise Problem(status, "the value is no JSON object")
    return state
def act(method, path, body):
    if path[0] not in environ["RESOURCES"].split(","): raise Problem(400, "unknown resource")
    if len(path) == 1 and method == "GET":
        flat = redis("HGETALL", path[0])
        return 200, {"items": [{**state_of(text, 409), "identity": name} for name, text in zip(flat[::2], flat[1::2])]}
    if len(path) != 2: raise Problem(400, "the path is /HASH or /HASH/FIELD")
    if method == "PUT": return 200, {"new": redis("HSET", *path, json.dumps(state_of(body, 422)))}
    found = redis("HGET" if method == "GET" else "HDEL", *path)
    if found in (None, "0"): return 404, {"absent": path[1]}
    return 200, state_of(found, 409) if method == "GET" else {}
class Adapter(BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 60
    def outcome(self):
        path, size = self.path[1:].split("/"), int(self.headers.get("Content-Length", 0))
        self.close_connection |= size > 1 << 20
        if size > 1 << 20: return 413, {"detail": "the body is larger than 1 MiB"}
        body, sent = self.rfile.read(size), self.headers.get("Authorization", "").encode()
        if path == ["healthz"]: return 200, {}
        token = lambda name: b"Bearer " + pathlib.Path(environ["TOKENS"], name).read_bytes().strip()
        may_write, may_read = (hmac.compare_digest(sent, token(name)) for name in ("write", "read"))
        if not may_write and not may_read: return 401, {"detail": "wrong token"}
        if not may_write and self.command != "GET": return 403, {"detail": "this token may only read"}
        try: return act(self.command, list(map(unquote, path)), body)
        except Problem as error: return error.args[0], {"detail": error.args[1]}
        except OSError as error: return 504 if isinstance(error, TimeoutError) else 502, {"detail": f"Redis: {error}"}
    def do_GET(self):
        status, body = self.outcome()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status in (200, 404) else "application/problem+json")
        if status == 503: self.send_header("Retry-After", "10")
        self.send_header("Content-Length", str(len(text := json.dumps(body).encode())))
        self.end_headers()
        self.wfile.write(text)
    do_PUT = do_DELETE = do_GET
ThreadingHTTPServer(("", int(environ.get("PORT", 8080))), Adapter).serve_forever()
