"""The local stack: embedded servers, one emulator per provider, real mail, the demo."""
