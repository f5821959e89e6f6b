"""The frame of every provider emulator: serves a service over HTTP, journals its calls, and injects ordered faults."""

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Thread

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route, Router, Service
from sandbox.emulator.faults import Fault, FaultBook, fault_from_json
from sandbox.emulator.http_server import EmulatorServer
from sandbox.emulator.journal import Journal, JournalEntry
from sandbox.servers.startable import Startable

CONTROL = "/_control/"


class Emulator(Startable):
    """A service on a port of 127.0.0.1: a context manager for tests, `run` for a process of its own."""

    def __init__(self, service: Service, journal: Journal, port: int = 0, control: Sequence[Route] = ()) -> None:
        """Port 0 takes any free port. The service may write to the same journal.

        `control` are routes below `/_control/`, for tests and the demo: their calls are neither journalled nor faulted.
        """
        self.service = service
        self.journal = journal
        self.faults = FaultBook()
        self._router = Router(service.routes)
        self._control = Router([*self._control_routes(), *control])
        self._server = EmulatorServer(("127.0.0.1", port), self.respond)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="emulator")

    @property
    def url(self) -> str:
        """The base URL, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Start serving."""
        self._thread.start()

    def stop(self) -> None:
        """End every delay, cut every connection, and wait for every thread; it cannot be started again."""
        self.faults.clear()
        self.journal.close()
        self.service.close()
        self._server.stop()
        self._thread.join()

    def respond(self, call: Call) -> Answer | None:
        """Answer one call, or None when the connection is to be dropped."""
        if call.path.startswith(CONTROL):
            return self._respond_to_control(call)
        found = self._router.find(call.method, call.path)
        if found is None:
            return self._note(call, self._refuse(call, ApiFailure(404, "notFound", "Not Found")))
        route, parameters = found
        call = replace(call, operation=route.operation, parameters=parameters)
        try:
            call = replace(call, account=self.service.identify(call))
            with self.service.admit(call):
                return self._perform(route, call)
        except ApiFailure as failure:
            return self._note(call, self._refuse(call, failure))

    def _perform(self, route: Route, call: Call) -> Answer | None:
        fault = self.faults.take(call)
        if fault is None:
            return self._note(call, self._execute(route, call))
        fault.cleared.wait(fault.order.delay_s)
        if fault.order.drop == "before":
            self._note(call, None, fault)
            return None
        failure = fault.failure()
        if failure is not None and not fault.order.after_execution:
            return self._note(call, self._ordered(call, fault, failure), fault)
        answer = self._execute(route, replace(call, order=fault.order.answer))
        if failure is not None:
            answer = replace(self._ordered(call, fault, failure), summary=answer.summary)
        answer = replace(answer, ending=fault.order.ending)
        self._note(call, None if fault.order.drop == "after" else answer, fault, answer.summary)
        fault.cleared.wait(fault.order.hang_s)
        return None if fault.order.drop == "after" else answer

    def _execute(self, route: Route, call: Call) -> Answer:
        try:
            return route.handler(call)
        except ApiFailure as failure:
            return self._refuse(call, failure)

    def _refuse(self, call: Call, failure: ApiFailure) -> Answer:
        answer = self.service.render(call, failure)
        headers = {**answer.headers, **failure.headers}
        return replace(answer, headers=headers, summary={"refused": failure.reason, "message": failure.message})

    def _ordered(self, call: Call, fault: Fault, failure: ApiFailure) -> Answer:
        answer, order = self._refuse(call, failure), fault.order
        if order.text is not None:
            return replace(answer, body=order.text.encode())
        return answer if order.body is None else replace(answer, body=order.body)

    def _note(
        self, call: Call, answer: Answer | None, fault: Fault | None = None, summary: Json | None = None
    ) -> Answer | None:
        self.journal.append(
            JournalEntry(
                operation=call.operation or "unknown",
                method=call.method,
                path=call.path,
                status=None if answer is None else answer.status,
                account=call.account,
                summary=summary if summary is not None else dict(answer.summary) if answer else {},
                query={name: list(values) for name, values in call.query.items()},
                fault=fault.as_json() if fault else None,
            )
        )
        return answer

    def _respond_to_control(self, call: Call) -> Answer:
        found = self._control.find(call.method, call.path)
        if found is None:
            return Answer(404, {"error": f"no control call {call.method} {call.path}"})
        route, parameters = found
        try:
            return route.handler(replace(call, operation=route.operation, parameters=parameters))
        except ApiFailure as failure:
            return Answer(failure.status, {"error": failure.message, "reason": failure.reason})
        except (KeyError, TypeError, ValueError) as error:
            return Answer(400, {"error": f"{type(error).__name__}: {error}", "reason": "badOrder"})

    def _control_routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/_control/journal", "control.journal", self._show_journal),
            Route("DELETE", "/_control/journal", "control.journal", self._clear_journal),
            Route("GET", "/_control/faults", "control.faults", self._show_faults),
            Route("POST", "/_control/faults", "control.faults", self._order_faults),
            Route("DELETE", "/_control/faults", "control.faults", self._clear_faults),
            Route("POST", "/_control/reset", "control.reset", self._reset),
        )

    def _show_journal(self, call: Call) -> Answer:
        """With `count`, wait up to `wait_s` seconds until that many entries match."""
        count, wait_s = call.number("count", 0), float(call.first("wait_s", "10"))
        operation, account = call.first("operation") or None, call.first("account") or None
        entries = self.journal.wait(count, wait_s, operation, account, call.number("since", 0))
        return Answer(body={"entries": [entry.as_json() for entry in entries]})

    def _clear_journal(self, _call: Call) -> Answer:
        self.journal.clear()
        return Answer(body={})

    def _show_faults(self, _call: Call) -> Answer:
        return Answer(body={"faults": self.faults.open()})

    def _order_faults(self, call: Call) -> Answer:
        self.faults.order([fault_from_json(order) for order in call.json().get("faults", [])])
        return self._show_faults(call)

    def _clear_faults(self, call: Call) -> Answer:
        self.faults.clear()
        return self._show_faults(call)

    def _reset(self, _call: Call) -> Answer:
        self.service.reset()
        self.faults.clear()
        self.journal.clear()
        return Answer(body={})


def parser(description: str) -> argparse.ArgumentParser:
    """The command line that every emulator has."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1; 0 takes any free one")
    return arguments


def run(emulator: Emulator) -> None:
    """Serve until SIGTERM or SIGINT; the only thing printed is the URL, once it answers."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with emulator:
        sys.stdout.write(f"{emulator.url}\n")
        sys.stdout.flush()
        stop.wait()
