"""Jobs that write several messages lock their rows in one order, whatever order Gmail names them in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from storage.mail import messages
from storage.postgres.database import Transaction
from tests.doubles.mail_environment import MailEnvironment
from tests.waiting import until_a_lock_is_waited_for

NEWS = "For your information only."


def while_it_waits(
    env: MailEnvironment, hold: Callable[[Transaction], object], look: Callable[[Transaction], object]
) -> None:
    """Drain the jobs while a lock is held, and lock something else, without waiting, while one of them waits."""
    with ThreadPoolExecutor(1) as threads:
        with env.process.database.ledger() as tx:
            hold(tx)
            drained = threads.submit(env.drain)
            until_a_lock_is_waited_for(env.database, describe="no job waits")
            tx.raw("set local lock_timeout = '1ms'")
            look(tx)
        drained.result(timeout=60)


def test_a_sync_locks_the_messages_of_a_page_in_the_order_of_their_ids(env: MailEnvironment) -> None:
    env.sync()
    places = [env.deliver(f"Note {n}", NEWS) for n in range(2)]
    env.sync()
    first, second = sorted(places, key=lambda place: place.message_id)
    for place in (second, first):
        env.mailbox.archive(place.thread_id)
    here = env.account.account_id
    env.enqueue("gmail.sync")
    while_it_waits(
        env,
        lambda tx: messages.hold(tx, here, first.message_id),
        lambda tx: messages.hold(tx, here, second.message_id),
    )
    assert env.count("select count(*) from messages where 'INBOX' = any (labels)") == 0


def test_a_thread_is_stored_with_its_correspondents_in_order(env: MailEnvironment) -> None:
    senders = ("zoe@example.com", "ann@example.com")
    asked = env.deliver("Old", "Could you?", headers={"From": senders[0]}, label_ids=("UNREAD",))
    env.deliver("Re: Old", "Hello?", headers={"From": senders[1]}, thread_id=asked.thread_id, label_ids=("UNREAD",))
    env.sync()
    env.mailbox.label_thread(asked.thread_id, add=(env.label("Needs Response"),))
    here = env.account
    lock = """
        insert into correspondents as c (org_id, account_id, address, heard_at)
        values (%(org)s, %(account)s, %(address)s, now())
        on conflict (org_id, account_id, address) do update set heard_at = c.heard_at"""

    def locked(address: str) -> Callable[[Transaction], object]:
        return lambda tx: tx.raw(lock, {"org": here.org_id, "account": here.account_id, "address": address})

    env.enqueue("gmail.sync")
    while_it_waits(env, locked(senders[1]), locked(senders[0]))
    assert env.count("select count(*) from messages") == 2
