// The key that a reader pastes stays in the page; nothing is sent anywhere but to this gateway.
SwaggerUIBundle({
  url: "v1/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  displayOperationId: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
});
