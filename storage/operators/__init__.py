"""What people and services do with jobs: look at them, retry them, replay dead letters, act as operators."""
