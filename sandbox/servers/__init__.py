"""PostgreSQL, Valkey and RabbitMQ as local processes."""
