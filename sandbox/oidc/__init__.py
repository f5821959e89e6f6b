"""The emulator of an OpenID Connect provider: one client, one person at the screen, tokens as tests order them."""
