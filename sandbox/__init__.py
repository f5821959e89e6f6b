"""The world in a box: embedded servers, one emulator per provider, real mail, the demo."""
