"""What URLs of the environment may say."""
