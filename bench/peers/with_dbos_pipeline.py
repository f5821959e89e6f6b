"""The mail pipeline as a DBOS workflow: a message is one workflow, whose steps are recorded as they end."""

from functools import partial
from itertools import islice

from dbos import DBOS

from bench.peers import mail_steps, program, with_dbos

AT_ONCE = 100
"""Messages enqueued in one transaction: workers see none of them before it commits."""

step = DBOS.step(retries_allowed=True, max_attempts=1 + mail_steps.MOST_RETRIES)
ingest, classify, draft = step(mail_steps.ingest), step(mail_steps.classify), step(mail_steps.draft)


@DBOS.workflow(name="mail")
def mail(box_id: str, message_id: str) -> None:
    """Store and classify a message, and write a draft where a reply is due."""
    ingest(box_id, message_id)
    if thread_id := classify(box_id, message_id):
        draft(box_id, thread_id)


class Sender(with_dbos.Sender):
    """Enqueues messages."""

    async def fill(self, job: str, jobs: int) -> None:
        """The file's next messages."""
        for start in range(0, jobs, AT_ONCE):
            self.enqueue(job, islice(mail_steps.messages(), min(AT_ONCE, jobs - start)))


if __name__ == "__main__":
    program.main(program.Program(partial(with_dbos.client, Sender), with_dbos.install, with_dbos.work))
