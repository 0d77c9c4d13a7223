"""The operations over HTTP: routes, attachments, files of an exchange, and the description of it all."""
