"""Sign-in with an organisation's account: operators of the console come in through an OpenID Connect provider."""
