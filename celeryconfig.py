"""Celery as transport: broker, queues, routes, acks and limits; no policy stands here.

Messages are hints (docs/explanation/life-of-a-job.md): early acknowledgement loses nothing, because the claim in
PostgreSQL is the acknowledgement, and the relay publishes every hint again that nobody claimed.
"""

from datetime import timedelta

from kombu import Exchange
from kombu import Queue as BrokerQueue

from beat_schedule import EVERY
from domain.jobs.queues import CLIENTS_NAMES, BrokerNames, Queue
from settings import load_or_end

_settings = load_or_end()

broker_url = _settings.broker_url.get_secret_value()
NAMES = BrokerNames(_settings.queue_prefix)
IS_RABBITMQ = _settings.broker_is_rabbitmq
broker_connection_retry_on_startup = True
broker_connection_max_retries = None  # a worker outlives any outage of its broker
broker_connection_timeout = 5
broker_heartbeat = 6  # AMQP's: a connection without a sign of life for two of them, 12 s, is given up
broker_transport_options = {
    "socket_connect_timeout": 5,
    # A question that is not answered holds the event loop. Two of them, to connect and to greet, must take less than
    # the 15 s after which a worker counts as standing still (domain/jobs/monitoring/liveness.py).
    "socket_timeout": 5,
    "write_timeout": 5,  # AMQP's name for it
    # A request for messages that Redis does not answer is given up after 1 s and this, looked for as often.
    "health_check_interval": 5,
    # Of a foreign client's job, until the ledger has it; hints are not guarded
    # (engine/celery_patches/redis_transport.py).
    "visibility_timeout": 120,
}

control_exchange = NAMES.control_exchange
event_exchange = event_queue_prefix = NAMES.event_exchange

# In RabbitMQ an exclusive queue stays locked after its connection was lost silently, until the broker notices that.
control_queue_exclusive = False
control_queue_durable = True

# RabbitMQ keeps a quorum queue through the loss of a node; Redis takes no notice of a queue's arguments.
QUEUE_ARGUMENTS = {"x-queue-type": "quorum"} if IS_RABBITMQ else None

# The anonymous exchange needs no binding, so a broker that lost its data still takes hints at once.
# By their aliases, `worker -Q` and `-X` know the queues without the prefix.
# RabbitMQ refuses to declare a queue that was declared with other arguments, as a client may have declared its own:
# these are looked for first (engine/broker/clients_queues.py).
task_queues = [
    BrokerQueue(NAMES.name(name), Exchange(""), routing_key=NAMES.name(name), alias=name, **options)
    for names, options in ((Queue, {"queue_arguments": QUEUE_ARGUMENTS}), (CLIENTS_NAMES, {"no_declare": True}))
    for name in names
]
task_default_queue = task_default_routing_key = NAMES.name(Queue.DEFAULT.value)
task_default_exchange = ""
task_create_missing_queues = False

accept_content = ["json"]
task_serializer = "json"
result_serializer = "json"
result_backend = "engine.results.ledger_backend:LedgerBackend"
task_ignore_result = True
task_store_errors_even_if_ignored = False

task_acks_late = False
worker_prefetch_multiplier = 1  # until the ledger loop asks for what it can use
worker_enable_prefetch_count_reduction = False
worker_cancel_long_running_tasks_on_connection_loss = False
worker_lost_wait = 1.0  # no result can still come from a dead child: the ledger has what it recorded
worker_hijack_root_logger = False
worker_redirect_stdouts = False
worker_send_task_events = False  # until somebody listens: Flower switches them on every few seconds
task_send_sent_event = False
enable_utc = True
timezone = "UTC"

worker_concurrency = 3  # what `--concurrency` says counts before it
worker_consumer = "engine.worker.consumer:FleetConsumer"
INTERVALS = EVERY | {
    "maintenance.fallback_sync": timedelta(seconds=_settings.fallback_sync_s),
    "maintenance.full_sync": timedelta(seconds=_settings.full_sync_s),
}
beat_schedule = {job_type: {"task": job_type, "schedule": every} for job_type, every in INTERVALS.items()}
beat_scheduler = "engine.beat:LedgerScheduler"
