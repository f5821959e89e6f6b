"""The job families of notifications, reminders, alerts and mail by order, a file each."""
