"""A language model that says what a script has it say, on loopback, in the words of whichever interface it is asked by.

A conversation is told from others by a word in what its user says first. Its script is a list of moves, each with a name; as
many results of tools as a request brings, so many moves have been made. So a request that is sent again gets the same answer.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from interfaces import INTERFACES


class Model:
    """`scripts` maps the word of a conversation to its moves: `(name, move)`. A move is a `Use`, a text, or a function that
    makes one of the results so far."""

    def __init__(self, scripts):
        self.scripts = scripts
        self.results = {word: {} for word in scripts}
        self.heard = []
        self.faults = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def move(self, said, results):
        """The next move of the conversation that `said` begins and that has these results."""
        word = next((word for word in self.scripts if word in said), None)
        moves = self.scripts.get(word, [])
        if word and len(results) > len(self.results[word]):
            self.results[word] = {name: result for (name, _), result in zip(moves, results, strict=False)}
        move = moves[len(results)][1] if len(results) < len(moves) else "Done."
        return move(results) if callable(move) else move

    def answer(self, path, body):
        """The type and the text of the answer to a request; nothing where no interface has such a path."""
        for ending, read, say in INTERFACES:
            if not path.endswith(ending):
                continue
            self.heard.append(body)
            request = json.loads(body)
            try:
                move = self.move(*read(request))
            except Exception as fault:  # noqa: BLE001: the host would only try again
                self.faults.append(repr(fault))
                move = f"The script has failed: {fault!r}"
            return say(request, move)
        return None


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.reply(404, "application/json", "{}")

        do_HEAD = do_GET

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            answer = model.answer(self.path.split("?")[0], body)
            self.reply(200, *answer) if answer else self.do_GET()

        def reply(self, status, kind, text):
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
